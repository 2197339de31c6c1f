import { availableParallelism } from 'node:os';
import type { ResourceLimits, TransferListItem } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Logger } from '#service';
import { threadFile } from './thread-file.js';
import { wholeNumber } from './worker-pool.errors.js';

export interface ThreadSetOptions {
  logger: Logger;
  /** Names the threads in logs. */
  name?: string;
  /** Default: one a processor that this process may use. */
  threads?: number;
  resourceLimits?: ResourceLimits;
}

interface ThreadRun {
  /** Takes the request out of the queue, or terminates its thread. */
  signal: AbortSignal;
  transferList: TransferListItem[];
}

// piscina loads our entry, an ES module, by `require` first. Node aborts the whole process when a thread is terminated in the
// middle of that; told not to, it refuses, and piscina imports it.
const REQUIRE_MODULE = '--experimental-require-module';
const THREAD_ARGUMENTS = [
  '--enable-source-maps',
  ...(process.allowedNodeEnvironmentFlags.has(REQUIRE_MODULE) ? ['--no-experimental-require-module'] : []),
];

/**
 * Threads that run the tasks of one pool, or of several that share them: each thread loads what it needs of a pool with its
 * first task. They begin with the first task and end when all pools that have used them are closed.
 */
export class ThreadSet {
  readonly threads: number;
  private piscina: Piscina | undefined;
  private readonly users = new Set<object>();
  private busy = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: ThreadSetOptions) {
    this.threads = wholeNumber('threads', options.threads ?? availableParallelism(), 1);
  }

  /** Threads that exist now. */
  get alive(): number {
    return this.piscina?.threads.length ?? 0;
  }

  /**
   * Runs a request on a thread, first come, first served. Piscina is never given more than it has threads: of tasks that can
   * be aborted, its own queue runs first what came last.
   */
  async run(user: object, request: unknown, options: ThreadRun): Promise<unknown> {
    this.users.add(user);
    await this.turn(options.signal);
    try {
      if (!this.users.has(user)) throw new Error('the pool was closed before a thread was free');
      this.piscina ??= this.create();
      return await this.piscina.run(request, options);
    } finally {
      this.pass();
    }
  }

  /** Terminates all threads if nobody else uses them. */
  async leave(user: object): Promise<void> {
    this.users.delete(user);
    if (this.users.size === 0) await this.terminate();
  }

  /** Resolves when a thread is the caller's. */
  private async turn(signal: AbortSignal): Promise<void> {
    if (this.busy < this.threads) {
      this.busy++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(take), 1);
        reject(signal.reason as Error);
      };
      const take = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(take);
    });
  }

  /** Leaves the caller's thread to whoever has waited longest. */
  private pass(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.busy--;
  }

  /** What the threads were doing counts as died. A later task starts new ones. */
  private async terminate(): Promise<void> {
    const { piscina } = this;
    this.piscina = undefined;
    await piscina?.destroy();
  }

  private create(): Piscina {
    const { resourceLimits, logger, name } = this.options;
    const piscina = new Piscina({
      filename: fileURLToPath(threadFile(import.meta.url, './entry.thread.js')),
      minThreads: this.threads,
      maxThreads: this.threads,
      recordTiming: false,
      execArgv: THREAD_ARGUMENTS,
      ...(resourceLimits && { resourceLimits }),
    });
    piscina.on('error', (err) => logger.error({ err, pool: name }, 'a thread died between tasks'));
    // Dead threads are replaced in the same turn, unless one died before it was ready: then piscina gives up replacing,
    // and with the last thread every task it still holds would hang.
    piscina.on('workerDestroy', () =>
      queueMicrotask(() => {
        if (this.piscina === piscina && piscina.threads.length === 0) void this.terminate();
      }),
    );
    return piscina;
  }
}
