import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { PROJECT_ROOT, spawnBuilt, type Child } from '#testing';
import { report } from './report.js';

// `npm run bench -- pipeline [directory]`: one whole `millrace run` against nothing but tokenizing on all cores.
const directory = process.argv[2] ?? join(PROJECT_ROOT, 'node_modules');

interface RunResult {
  elapsedMs: number;
  counts: { files: Record<string, number>; tokens: number; bytes: Record<string, number> };
}

function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Reading and counting alone, on as many threads as there are cores, files dealt out by size. */
async function tokenizeAll(): Promise<{ ms: number; bytes: number }> {
  const paths = filesBelow(directory).sort((a, b) => statSync(b).size - statSync(a).size);
  const threads = availableParallelism();
  const started = performance.now();
  const counted = await Promise.all(
    Array.from({ length: threads }, async (_, index) => {
      const share = paths.filter((_path, position) => position % threads === index);
      const worker = new Worker(new URL('./pipeline.tokenise.js', import.meta.url), {
        workerData: { paths: share },
      });
      const [result] = (await once(worker, 'message')) as [{ bytes: number }];
      return result.bytes;
    }),
  );
  return { ms: performance.now() - started, bytes: counted.reduce((sum, bytes) => sum + bytes, 0) };
}

/** The most memory that each process below the run had, by app. */
function watchMemory(child: Child): { stop(): Map<string, number> } {
  const peaks = new Map<string, number>();
  const timer = setInterval(() => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        if (!status.includes(`PPid:\t${child.pid}\n`)) continue;
        const app = /apps\/([a-z-]+)\//.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.[1];
        const kb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
        if (app) peaks.set(app, Math.max(peaks.get(app) ?? 0, kb / 1000));
      } catch {
        // The process ended between the listing and the look.
      }
    }
  }, 200);
  return {
    stop: () => {
      clearInterval(timer);
      return peaks;
    },
  };
}

async function run(
  folder: string,
): Promise<{ result: RunResult; peaks: Map<string, number>; wallMs: number }> {
  const started = performance.now();
  const args = ['--data', join(folder, 'data'), '-o', 'json', 'run', directory, '--out', join(folder, 'out')];
  const child = spawnBuilt('apps/cli/src/main', args);
  const memory = watchMemory(child);
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`millrace run ended with ${code}: ${child.stderr.slice(-2000)}`);
  return {
    result: JSON.parse(child.stdout) as RunResult,
    peaks: memory.stop(),
    wallMs: performance.now() - started,
  };
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
try {
  const limit = await tokenizeAll();
  const { result, peaks, wallMs } = await run(folder);
  const seconds = result.elapsedMs / 1000;
  const files = Object.values(result.counts.files).reduce((sum, count) => sum + count, 0);
  report({
    name: 'pipeline.run',
    value: limit.bytes / 1e6 / seconds,
    unit: 'MB/s',
    peer: limit.bytes / 1e3 / limit.ms,
    ratio: limit.ms / result.elapsedMs,
    aim: 0.6,
  });
  report({ name: 'pipeline.files', value: files / seconds, unit: 'files/s' });
  report({ name: 'pipeline.tokens', value: result.counts.tokens / seconds, unit: 'tokens/s' });
  report({ name: 'pipeline.wall', value: wallMs / 1000, unit: 's' });
  for (const [app, megabytes] of peaks) report({ name: `pipeline.rss.${app}`, value: megabytes, unit: 'MB' });
  const again = await run(folder);
  report({
    name: 'pipeline.rerun',
    value: again.wallMs / 1000,
    unit: 's',
    peer: wallMs / 1000,
    ratio: wallMs / again.wallMs,
  });
} finally {
  await rm(folder, { recursive: true, force: true });
}
