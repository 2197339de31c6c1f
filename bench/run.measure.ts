import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
// Not by '#testing': its index needs Jest.
import { spawnBuilt, type Child } from '../libs/testing/src/child.js';

export interface RunResult {
  elapsedMs: number;
  counts: { files: Record<string, number>; tokens: number; bytes: Record<string, number> };
  proof: { verdict: string };
}

export interface Usage {
  /** The most so far, and the most by each look. */
  megabytes: number;
  history: number[];
  cpuSeconds: number;
}

const TICKS_PER_SECOND = 100;

/** The memory that each process below the run has had, and the processor time it took, by app. */
function watchProcesses(child: Child): { stop(): Map<string, Usage> } {
  const usage = new Map<string, Usage>();
  const timer = setInterval(() => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        const app = appOf(pid, status, command, child);
        if (!app) continue;
        const megabytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1000;
        const times = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
        const before = usage.get(app);
        usage.set(app, {
          megabytes: Math.max(before?.megabytes ?? 0, megabytes),
          history: [...(before?.history ?? []), megabytes],
          cpuSeconds: (Number(times[11]) + Number(times[12])) / TICKS_PER_SECOND,
        });
      } catch {
        // The process ended between the listing and the look.
      }
    }
  }, 200);
  return {
    stop: () => {
      clearInterval(timer);
      return usage;
    },
  };
}

/** The run itself, an app below it, or the Redis below its keeper. */
function appOf(pid: string, status: string, command: string, run: Child): string | undefined {
  if (pid === String(run.pid)) return 'cli';
  const parent = /PPid:\t(\d+)/.exec(status)?.[1] ?? '';
  if (parent === String(run.pid)) return /apps\/([a-z-]+)\//.exec(command)?.[1];
  if (!/^redis-server/.test(command)) return undefined;
  return readFileSync(`/proc/${parent}/status`, 'utf8').includes(`PPid:\t${run.pid}\n`) ? 'redis' : undefined;
}

export interface Run {
  result: RunResult;
  usage: Map<string, Usage>;
  startedAt: number;
  wallMs: number;
}

/** One whole `millrace run`, with its data and output in the folder. */
export async function runMillrace(directory: string, folder: string): Promise<Run> {
  const started = performance.now();
  const startedAt = Date.now();
  const args = ['--data', join(folder, 'data'), '-o', 'json', 'run', directory, '--out', join(folder, 'out')];
  const child = spawnBuilt('apps/cli/src/main', args);
  const processes = watchProcesses(child);
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`millrace run ended with ${code}: ${child.stderr.slice(-2000)}`);
  return {
    result: JSON.parse(child.stdout) as RunResult,
    usage: processes.stop(),
    startedAt,
    wallMs: performance.now() - started,
  };
}
