import { availableParallelism } from 'node:os';
import type { ResourceLimits, TransferListItem } from 'node:worker_threads';
import { within, type Logger, type Metrics, type Service } from '#service';
import { Deferred } from './deferred.js';
import { PoolCounts, type Outcome, type PoolMetrics } from './pool-counts.js';
import { wholeNumber } from './pool-options.js';
import { Threads, type Failure, type Performed } from './threads.js';
import {
  PoolFullError,
  PoolStoppedError,
  TaskAbortedError,
  TaskNotCloneableError,
  ThreadDiedError,
} from './worker-pool.errors.js';

export interface ThreadPoolOptions {
  /** The built thread file; see `threadFile`. Its default export is a ThreadHandler. */
  file: URL;
  logger: Logger;
  metrics?: Metrics;
  /** Names the pool in logs, errors and metrics. */
  name?: string;
  /** Default: one a processor that this process may use. */
  threads?: number;
  /** Handed to every thread as `context.data`. */
  workerData?: unknown;
  resourceLimits?: ResourceLimits;
  /** Tasks that may wait for a thread; more are refused with PoolFullError. */
  maxQueue?: number;
  /** How long an aborted task may go on before its thread is terminated. */
  abortGraceMs?: number;
}

export interface RunOptions {
  signal?: AbortSignal;
  transferList?: readonly TransferListItem[];
}

const MAX_QUEUE = 1000;
const ABORT_GRACE_MS = 1000;
// A thread inside native code ends only when it returns from it; shutdown does not wait for that.
const TERMINATE_LIMIT_MS = 2000;

interface Job {
  readonly task: unknown;
  readonly transferList: readonly TransferListItem[];
  readonly result: Deferred<unknown>;
  readonly kill: AbortController;
  /** Undefined while the job waits in the queue. */
  slot?: number;
  /** Set once the job is to end early: what it rejects with, unless it finishes first. */
  aborted?: { error: Error; grace: NodeJS.Timeout };
}

/**
 * CPU work on threads, so that the event loop never stalls. One task a thread at a time, first come first served.
 * - `run` settles with what the handler returned or threw (errors keep name, stack, `code`, facts and causes).
 * - A thread that dies (out of memory, process.exit, uncaught error) is replaced; its task alone rejects, with
 *   ThreadDiedError. A crash of native code takes the process along: threads cannot contain that.
 * - Aborting asks the task to end, and terminates its thread when it does not within the grace period. A task that
 *   finishes all the same resolves: done is done.
 */
export class ThreadPool implements Service {
  readonly name: string;
  readonly threads: number;
  private closed: Promise<void> | undefined;
  private readonly queue: Job[] = [];
  private readonly running = new Set<Job>();
  private readonly freeSlots: number[];
  private readonly pool: Threads;
  private readonly counts: PoolCounts;
  private readonly logger: Logger;
  private readonly maxQueue: number;
  private readonly abortGraceMs: number;

  constructor(options: ThreadPoolOptions) {
    this.name = options.name ?? 'threads';
    this.threads = wholeNumber('threads', options.threads ?? availableParallelism(), 1);
    this.maxQueue = wholeNumber('maxQueue', options.maxQueue ?? MAX_QUEUE, 0);
    this.abortGraceMs = wholeNumber('abortGraceMs', options.abortGraceMs ?? ABORT_GRACE_MS, 0);
    this.logger = options.logger;
    this.counts = new PoolCounts(this.name, options.metrics);
    this.freeSlots = Array.from({ length: this.threads }, (_, slot) => slot);
    this.pool = new Threads({
      file: options.file,
      count: this.threads,
      data: options.workerData,
      resourceLimits: options.resourceLimits,
      onError: (err) => this.logger.error({ err, pool: this.name }, 'a thread died between tasks'),
    });
  }

  /** Starts the threads and loads their file; without it the first tasks do. Opens a closed pool again. */
  async start(signal: AbortSignal = new AbortController().signal): Promise<void> {
    signal.throwIfAborted();
    if (this.closed) await this.closed;
    this.closed = undefined;
    const [failed] = await this.pool.load(signal);
    if (!failed) return;
    await this.pool.terminate();
    throw this.errorOf(failed);
  }

  stop(): Promise<void> {
    return this.close();
  }

  /** Refuses new tasks, gives up queued ones, aborts running ones and ends the threads. Bounded and idempotent. */
  close(): Promise<void> {
    this.closed ??= this.shutDown();
    return this.closed;
  }

  async run<T>(task: unknown, { signal, transferList = [] }: RunOptions = {}): Promise<T> {
    if (this.closed) throw new PoolStoppedError(this.name, 'stopped');
    if (signal?.aborted) throw new TaskAbortedError(this.name, signal.reason);
    if (this.freeSlots.length === 0 && this.queue.length >= this.maxQueue)
      throw new PoolFullError(this.name, this.maxQueue);
    const job: Job = { task, transferList, result: new Deferred(), kill: new AbortController() };
    const onAbort = (): void => this.abort(job, new TaskAbortedError(this.name, signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      this.enqueue(job);
      return (await job.result.promise) as T;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Threads that exist now. */
  get alive(): number {
    return this.pool.alive;
  }

  metrics(): PoolMetrics {
    return this.counts.read();
  }

  private enqueue(job: Job): void {
    this.queue.push(job);
    this.counts.accepted();
    this.pump();
  }

  private pump(): void {
    while (this.freeSlots.length > 0) {
      const job = this.queue.shift();
      if (!job) return;
      void this.perform(job, this.freeSlots.pop() as number);
    }
  }

  private async perform(job: Job, slot: number): Promise<void> {
    job.slot = slot;
    this.running.add(job);
    this.counts.started();
    const { task, transferList, kill } = job;
    const performed = await this.pool.perform({ slot, task, transferList, kill: kill.signal });
    this.running.delete(job);
    this.freeSlots.push(slot);
    clearTimeout(job.aborted?.grace);
    this.counts.ended(this.settle(job, performed));
    this.pump();
  }

  private settle(job: Job, performed: Performed): Outcome {
    if (performed.outcome === 'returned') {
      job.result.resolve(performed.value);
      return 'processed';
    }
    if (job.aborted) {
      job.result.reject(job.aborted.error);
      return 'abandoned';
    }
    if (performed.outcome === 'died')
      this.logger.warn(
        { err: performed.cause, pool: this.name },
        'a thread died during a task and is replaced',
      );
    job.result.reject(this.errorOf(performed));
    return 'failed';
  }

  private errorOf(performed: Failure): Error {
    switch (performed.outcome) {
      case 'threw':
        return performed.error;
      case 'not-cloneable':
        return new TaskNotCloneableError(this.name, performed.cause);
      case 'died':
        return new ThreadDiedError(this.name, performed.cause);
    }
  }

  private abort(job: Job, error: Error): void {
    if (job.aborted) return;
    if (job.slot === undefined) return this.drop(job, error);
    this.pool.requestAbort(job.slot);
    job.aborted = { error, grace: setTimeout(() => job.kill.abort(), this.abortGraceMs) };
  }

  private drop(job: Job, error: Error): void {
    const place = this.queue.indexOf(job);
    if (place < 0) return;
    this.queue.splice(place, 1);
    this.counts.dropped();
    job.result.reject(error);
  }

  private async shutDown(): Promise<void> {
    const error = new PoolStoppedError(this.name, 'stopped');
    const running = [...this.running];
    for (const job of [...this.queue, ...running]) this.abort(job, error);
    await Promise.allSettled(running.map(({ result }) => result.promise));
    await within(TERMINATE_LIMIT_MS, this.pool.terminate(), () =>
      this.logger.warn({ pool: this.name }, 'threads were still in native code when the pool closed'),
    );
  }
}
