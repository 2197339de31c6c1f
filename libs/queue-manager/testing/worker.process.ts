import { createLogger, armFault, sleep } from '#service';
import { giveUp, type JobOutcome } from '../src/index.js';
import { createManager, NOTE } from './managers.js';

/** What the process does with a note. */
export type WorkerMode = 'complete' | 'fail' | 'hold' | 'deadly';

export interface WorkerProcessOptions {
  url: string;
  prefix: string;
  workerId: string;
  mode: WorkerMode;
  concurrency?: number;
  drainMs?: number;
  /** See `armFault`. */
  fault?: string;
  /** Makes the sweep the only way to the dead-letter queue, or a busy one. */
  sweepIntervalMs?: number;
  /** 1 for the times of production. */
  haste?: number;
}

// A worker in a process of its own, for tests that kill, freeze or stop it. Prints a JSON line for each job it begins.
const options = JSON.parse(process.argv[2] ?? '{}') as WorkerProcessOptions;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const manager = createManager({
  url: options.url,
  prefix: options.prefix,
  workerId: options.workerId,
  logger: createLogger({ service: 'worker-process', workerId: options.workerId, level: 'info' }),
  sweepIntervalMs: options.sweepIntervalMs,
  ...(options.haste !== undefined && { haste: options.haste }),
});

const partsOf = (text: string): string[] => text.split(',');

async function perform(text: string, signal: AbortSignal): Promise<JobOutcome | void> {
  switch (options.mode) {
    case 'fail':
      return giveUp(new Error(`cannot do ${text}`));
    case 'hold':
      return sleep(600_000, signal);
    case 'deadly':
      if (partsOf(text).some((part) => part.startsWith('poison'))) process.kill(process.pid, 'SIGKILL');
      return sleep(20);
    case 'complete':
      return;
  }
}

const stop = (): void => {
  void manager.closeConnections().then(() => process.exit(0));
};
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
process.on('unhandledRejection', (error) => {
  say({ event: 'unhandled', error: String(error) });
  process.exit(70);
});

armFault(options.fault);
await manager.start();
const worker = manager.createWorker(
  'q',
  NOTE,
  async ({ text }, context) => {
    const { jobId, signal } = context;
    say({ event: 'begin', jobId });
    await context.begin();
    const outcome = await perform(text, signal);
    if (!outcome) say({ event: 'end', jobId });
    return outcome;
  },
  {
    concurrency: options.concurrency ?? 10,
    drainMs: options.drainMs,
    divide: ({ text }) => {
      const parts = partsOf(text).map((part) => ({
        jobId: `part-${part}`,
        payload: { text: part },
        suspect: true,
      }));
      return parts.length > 1 ? () => manager.enqueueJobs('q', NOTE, parts) : undefined;
    },
  },
);
await worker.start();
say({ event: 'ready' });
