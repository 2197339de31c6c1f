import { setMaxListeners } from 'node:events';
import type { Logger, Metrics } from '#service';
import { PoolCounts, type Outcome, type PoolMetrics } from './pool-counts.js';
import {
  errorsOmitted,
  ItemFailedError,
  poolStopped,
  wholeNumber,
  type PoolError,
  type StopReason,
} from './worker-pool.errors.js';

/**
 * One unit of work. `process` may run at the same time as any other item, looks at `signal` between its steps and ends
 * early when it is aborted, and rejects to report failure. `id` names the item in logs and errors.
 */
export interface WorkItem {
  readonly id: string;
  process(signal: AbortSignal): Promise<void>;
}

export interface WorkerPoolOptions {
  /** How many items run at once. */
  workers: number;
  logger: Logger;
  /** Aborting it stops the pool. */
  signal?: AbortSignal;
  /** Names the pool in logs, errors and metrics. */
  name?: string;
  metrics?: Metrics;
  /** How many errors `wait` returns; those beyond are counted in one last entry. Bounds the memory of a bad run. */
  maxErrors?: number;
}

const QUEUE_PER_WORKER = 10;
const MAX_ERRORS = 1000;

/** A promise with its two ends in hand. Settling it again does nothing. */
export class Deferred<T> {
  resolve!: (value: T | PromiseLike<T>) => void;
  reject!: (reason: Error) => void;

  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

/**
 * Runs items at most `workers` at a time, behind a queue of `workers × 10`, in the order of their submission.
 * - An item that throws or rejects is counted, logged with its stack and collected; it never stops a worker.
 * - Every accepted item ends in exactly one count: processed, failed, or abandoned (still unstarted when the pool
 *   stopped). A submit that was not accepted rejects.
 * - An item may not wait for its own pool: that could hang for ever.
 * Life: `submit` …, `idle()` when the work is to be finished, `stop()`, `wait()`.
 */
export class WorkerPool {
  readonly name: string;
  readonly workers: number;
  readonly capacity: number;
  /** What is answered once it takes no more work. */
  private stopped: PoolError | undefined;
  private readonly queue: WorkItem[] = [];
  private readonly submitters: { item: WorkItem; accept: () => void; reject: (error: Error) => void }[] = [];
  private idling: Deferred<void> | undefined;
  private readonly stopping = new AbortController();
  private readonly finished = new Deferred<void>();
  private readonly counts: PoolCounts;
  private readonly logger: Logger;
  private readonly maxErrors: number;
  private readonly errors: Error[] = [];
  private omittedErrors = 0;
  private active = 0;

  constructor(options: WorkerPoolOptions) {
    this.workers = wholeNumber('workers', options.workers, 1);
    this.capacity = this.workers * QUEUE_PER_WORKER;
    this.maxErrors = wholeNumber('maxErrors', options.maxErrors ?? MAX_ERRORS, 0);
    this.name = options.name ?? 'worker';
    this.logger = options.logger;
    this.counts = new PoolCounts(this.name, options.metrics, () => this.active);
    // Every item may listen: that is no leak, however many there are.
    setMaxListeners(Infinity, this.stopping.signal);
    this.follow(options.signal);
  }

  /**
   * Resolves when the queue has accepted the item, waiting in order of call while it is full. Rejects with
   * POOL_STOPPED when the pool is or gets stopped first.
   */
  async submit(item: WorkItem): Promise<void> {
    if (this.stopped) throw this.stopped;
    if (this.queue.length < this.capacity) return this.accept(item);
    return new Promise((accept, reject) => this.submitters.push({ item, accept, reject }));
  }

  /** Takes no more work, abandons what has not started and aborts the signal of what has. Does not wait. Idempotent. */
  stop(): void {
    this.end('stopped', undefined);
  }

  /** After a stop: resolves when no item runs any more, with the errors of all items that failed. */
  async wait(): Promise<Error[]> {
    await this.finished.promise;
    const { errors, omittedErrors } = this;
    return omittedErrors > 0 ? [...errors, errorsOmitted(omittedErrors, errors.length)] : [...errors];
  }

  /**
   * Resolves when everything submitted, and what that submitted before it ended, is done. Rejects with
   * POOL_STOPPED when the pool is stopped instead: work may have been abandoned then.
   */
  async idle(): Promise<void> {
    if (this.stopped) throw this.stopped;
    if (this.active === 0) return;
    return (this.idling ??= new Deferred<void>()).promise;
  }

  metrics(): PoolMetrics {
    return this.counts.read();
  }

  private follow(signal: AbortSignal | undefined): void {
    const onAbort = (): void => this.end('aborted', signal?.reason);
    if (signal?.aborted) onAbort();
    // The own signal takes the listener off again: a pool does not outlive its stop on a long-lived signal.
    else signal?.addEventListener('abort', onAbort, { once: true, signal: this.stopping.signal });
  }

  private accept(item: WorkItem): void {
    this.queue.push(item);
    this.counts.count('queued');
    this.pump();
  }

  private pump(): void {
    while (!this.stopped && this.active < this.workers) {
      const item = this.queue.shift();
      if (!item) return;
      this.active++;
      this.counts.show();
      void this.execute(item);
      const next = this.submitters.shift();
      if (!next) continue;
      this.queue.push(next.item);
      this.counts.count('queued');
      next.accept();
    }
  }

  private async execute(item: WorkItem): Promise<void> {
    // An item never runs on its submitter's stack.
    await Promise.resolve();
    let outcome: Outcome = this.stopped ? 'abandoned' : 'processed';
    try {
      if (outcome === 'processed') await item.process(this.stopping.signal);
    } catch (cause) {
      outcome = 'failed';
      this.report(new ItemFailedError(item.id, cause));
    }
    this.active--;
    this.counts.count(outcome);
    this.pump();
    if (this.active > 0) return;
    this.idling?.resolve();
    this.idling = undefined;
    if (this.stopped) this.finish();
  }

  private report(error: ItemFailedError): void {
    if (this.errors.length < this.maxErrors) this.errors.push(error);
    else this.omittedErrors++;
    const facts = { err: error, pool: this.name, item: error.item };
    if (this.stopped) this.logger.warn(facts, 'work item ended unfinished after the pool was stopped');
    else this.logger.error(facts, 'work item failed; the worker goes on');
  }

  private finish(): void {
    const { abandoned } = this.metrics();
    this.logger.debug({ pool: this.name, ...this.metrics() }, 'worker pool status');
    if (abandoned > 0) this.logger.warn({ pool: this.name, abandoned }, 'pool stopped with unstarted items');
    this.finished.resolve();
  }

  private end(reason: StopReason, cause: unknown): void {
    if (this.stopped) return;
    const error = (this.stopped = poolStopped(this.name, reason, cause));
    for (const _ of this.queue.splice(0)) this.counts.count('abandoned');
    for (const { reject } of this.submitters.splice(0)) reject(error);
    this.idling?.reject(error);
    this.stopping.abort(error);
    if (this.active === 0) this.finish();
  }
}
