import { describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, Random, testSeed, type Child } from '#testing';
import { RecordingAnalyser } from '../e2e/recording-analyser.js';
import { useRunRig } from '../e2e/run-rig.js';
import { growTree } from '../e2e/tree.js';

const FULL = process.env.MILLRACE_TORTURE === 'full';
const ROUNDS = FULL ? 5 : 1;
const FILES = 150;

/** What is killed in one run, each at a moment of its own, and the exit codes that are right then. */
interface Strike {
  commands: readonly string[];
  withinMs: number;
  codes: readonly number[];
}

// Whatever dies is started again. A scan whose Redis went away may end the run, which says so.
const duringTheScan = (scanner: string): Strike[] => [
  { commands: [scanner], withinMs: 700, codes: [0] },
  { commands: ['redis-server unixsocket'], withinMs: 2_500, codes: [0, 1] },
];
const SHAPES = [
  {
    shape: 'one worker',
    scanner: 'apps/worker/',
    env: { MILLRACE_FILES_PER_JOB: '7' },
    options: [],
    apps: ['apps/worker/'],
  },
  {
    shape: 'separate processes',
    scanner: 'apps/producer/',
    env: { MILLRACE_FILES_PER_JOB: '1' },
    options: ['--separate'],
    apps: ['apps/batcher/', 'apps/outbox-publisher/', 'apps/analyzer/', 'apps/dlq-admin/'],
  },
];

describe.each(SHAPES)(
  'millrace run of $shape, each killed at a random moment',
  ({ scanner, env, options, apps }) => {
    const startedAgain: Strike[] = (FULL ? apps.map((app) => [app]) : [apps]).map((commands) => ({
      commands,
      withinMs: 2_500,
      codes: [0],
    }));
    const rig = useRunRig();

    it(
      'ends or goes on by itself; the run after it proves that nothing was lost and nothing done twice',
      async () => {
        const seed = testSeed();
        const random = new Random(seed);
        const analyser = await RecordingAnalyser.start();
        let files = 0;
        const runOnMore = async (): Promise<Child> => {
          await growTree(rig.tree, files, FILES);
          files += FILES;
          const args = ['--url', analyser.url, '--max-tokens', '2000', ...options];
          return rig.millrace(['-o', 'json', 'run', rig.tree, '--out', rig.out, ...args], env);
        };
        /** Undefined when the run ended before it was seen. */
        const find = (command: string, run: Child): Promise<number | undefined> =>
          eventually(
            async () => {
              const { running } = run;
              const found = (await rig.processes()).find((process) => process.command.includes(command));
              if (!found && running) throw new Error(`no process of ${command} (seed ${seed})`);
              return found?.pid;
            },
            { timeoutMs: 60_000, everyMs: 5 },
          );
        /** Those that were to be killed and had ended by themselves. */
        const strike = async ({ commands, withinMs, codes }: Strike): Promise<string[]> => {
          const struck = await runOnMore();
          const kills = commands.map(async (command) => {
            const pid = await find(command, struck);
            await pause(random.next() * withinMs);
            return pid !== undefined && kill(pid);
          });
          const killed = await Promise.all(kills);
          const { code } = await struck.exited;
          if (killed.includes(true) && !codes.includes(code ?? -1))
            throw new Error(
              `seed ${seed}: ${commands.join(', ')} killed, exit ${code}\n${struck.stdout}${struck.stderr}`,
            );
          return commands.filter((_, index) => !killed[index]);
        };
        /** Until each was killed once; who was missed is looked for earlier in the next run. */
        const strikeAll = async (target: Strike): Promise<void> => {
          let { commands, withinMs } = target;
          for (; commands.length > 0; withinMs /= 2)
            commands = await strike({ ...target, commands, withinMs });
        };
        try {
          for (let round = 1; round <= ROUNDS; round++)
            for (const target of [...duringTheScan(scanner), ...startedAgain]) await strikeAll(target);
          const { proof } = await rig.succeed(await runOnMore());
          expect({ seed, verdict: proof.verdict }).toEqual({ seed, verdict: 'proven' });
          const parts = [...analyser.effects.values()].flatMap((batch) =>
            batch.files.map(({ path, part }) => `${path}#${part}`),
          );
          expect({ seed, twice: parts.length - new Set(parts).size }).toEqual({ seed, twice: 0 });
          expect(new Set(parts.map((name) => name.split('#')[0])).size).toBe(files);
          await eventually(async () => expect(await rig.processes()).toEqual([]), { timeoutMs: 30_000 });
        } finally {
          await analyser.stop();
        }
      },
      ROUNDS * 420_000,
    );
  },
);

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
