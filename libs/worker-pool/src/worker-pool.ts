import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import type { Logger, Metrics } from '#service';
import { Deferred } from './deferred.js';
import { Fifo } from './fifo.js';
import { PoolCounts, type Outcome, type PoolMetrics } from './pool-counts.js';
import { wholeNumber } from './pool-options.js';
import type { WorkItem } from './work-item.js';
import {
  ErrorsOmittedError,
  ItemFailedError,
  PoolDeadlockError,
  PoolStoppedError,
  type StopReason,
} from './worker-pool.errors.js';

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
  /**
   * Whether items run in the async context of their submitter, and are refused when they wait for their own pool. On Node 20
   * that taxes every promise of the process; `false` where items do not call their pool.
   */
  ambient?: boolean;
}

const QUEUE_PER_WORKER = 10;
const MAX_ERRORS = 1000;

interface Entry {
  readonly item: WorkItem;
  readonly id: string;
  /** The async context of the submitter: an item logs under its submitter's trace. */
  readonly context: AsyncResource;
}

type PoolState = { state: 'open' } | { state: 'stopped'; reason: StopReason; cause: unknown };

// One for all pools: an AsyncLocalStorage that was used is never collected on Node 20.
const runningItem = new AsyncLocalStorage<{ pool: WorkerPool; id: string; running: boolean }>();

/**
 * Runs items at most `workers` at a time, behind a queue of `workers × 10`, in the order of their submission.
 * - An item that throws or rejects is counted, logged with its stack and collected; it never stops a worker.
 * - Every accepted item ends in exactly one count: processed, failed, or abandoned (still unstarted when the pool
 *   stopped). A submit that was not accepted rejects.
 * - An item may not wait for its own pool; the calls that would, reject with PoolDeadlockError instead.
 * Life: `submit` …, `idle()` when the work is to be finished, `stop()`, `wait()`.
 */
export class WorkerPool {
  readonly name: string;
  readonly workers: number;
  readonly capacity: number;
  private state: PoolState = { state: 'open' };
  private readonly queue = new Fifo<Entry>();
  private readonly submitters = new Fifo<{ entry: Entry; accepted: Deferred<void> }>();
  private readonly idlers: Deferred<void>[] = [];
  private readonly stopping = new AbortController();
  private readonly finished = new Deferred<void>();
  private readonly counts: PoolCounts;
  private readonly errors: CollectedErrors;
  private readonly logger: Logger;
  private readonly ambient: boolean;
  private active = 0;

  constructor({
    workers,
    logger,
    signal,
    name = 'worker',
    metrics,
    maxErrors = MAX_ERRORS,
    ambient = true,
  }: WorkerPoolOptions) {
    this.workers = wholeNumber('workers', workers, 1);
    this.capacity = this.workers * QUEUE_PER_WORKER;
    this.errors = new CollectedErrors(wholeNumber('maxErrors', maxErrors, 0));
    this.name = name;
    this.ambient = ambient;
    this.logger = logger;
    this.counts = new PoolCounts(name, metrics);
    // Every item may listen: that is no leak, however many there are.
    setMaxListeners(Infinity, this.stopping.signal);
    this.follow(signal);
  }

  /**
   * Resolves when the queue has accepted the item, waiting in order of call while it is full. Rejects with
   * PoolStoppedError when the pool is or gets stopped first, and with PoolDeadlockError from inside an item of this
   * pool while the queue is full.
   */
  async submit(item: WorkItem): Promise<void> {
    if (this.trySubmit(item)) return;
    this.refuseFromInside('submit');
    const submitter = { entry: entryOf(item), accepted: new Deferred<void>() };
    this.submitters.push(submitter);
    return submitter.accepted.promise;
  }

  /** Accepts the item if the queue has room. For items that submit to their own pool: they keep what was refused. */
  trySubmit(item: WorkItem): boolean {
    if (this.state.state === 'stopped') throw this.stoppedError(this.state);
    if (this.queue.size >= this.capacity) return false;
    this.accept(entryOf(item));
    this.pump();
    return true;
  }

  /** Takes no more work, abandons what has not started and aborts the signal of what has. Does not wait. Idempotent. */
  stop(): void {
    this.end('stopped', undefined);
  }

  /** After a stop: resolves when no item runs any more, with the errors of all items that failed. */
  async wait(): Promise<Error[]> {
    this.refuseFromInside('wait');
    await this.finished.promise;
    return this.errors.list();
  }

  /**
   * Resolves when everything submitted, and what that submitted before it ended, is done. Rejects with
   * PoolStoppedError when the pool is stopped instead: work may have been abandoned then.
   */
  async idle(): Promise<void> {
    this.refuseFromInside('idle');
    if (this.state.state === 'stopped') throw this.stoppedError(this.state);
    if (this.active === 0) return;
    const idler = new Deferred<void>();
    this.idlers.push(idler);
    return idler.promise;
  }

  /** Counts items as failed whose result could not be kept after they had ended. */
  countLost(items: number): void {
    this.counts.lost(items);
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

  private accept(entry: Entry): void {
    this.queue.push(entry);
    this.counts.accepted();
  }

  private pump(): void {
    while (this.state.state === 'open' && this.active < this.workers) {
      const entry = this.queue.shift();
      if (!entry) return;
      this.active++;
      this.counts.started();
      void this.execute(entry);
      this.admit();
    }
  }

  private admit(): void {
    while (this.queue.size < this.capacity) {
      const submitter = this.submitters.shift();
      if (!submitter) return;
      this.accept(submitter.entry);
      submitter.accepted.resolve();
    }
  }

  private async execute(entry: Entry): Promise<void> {
    // An item never runs on its submitter's stack.
    await Promise.resolve();
    const outcome = this.state.state === 'stopped' ? 'abandoned' : await this.attempt(entry);
    this.active--;
    this.counts.ended(outcome);
    this.pump();
    if (this.active === 0) this.rest();
  }

  private async attempt(entry: Entry): Promise<Outcome> {
    try {
      await (this.ambient ? this.processInContext(entry) : entry.item.process(this.stopping.signal));
      return 'processed';
    } catch (cause) {
      this.report(new ItemFailedError(entry.id, cause));
      return 'failed';
    }
  }

  private async processInContext({ item, id, context }: Entry): Promise<void> {
    const current = { pool: this, id, running: true };
    try {
      await context.runInAsyncScope(() => runningItem.run(current, () => item.process(this.stopping.signal)));
    } finally {
      current.running = false;
    }
  }

  private report(error: ItemFailedError): void {
    this.errors.add(error);
    const facts = { err: error, pool: this.name, item: error.item };
    if (this.state.state === 'open') this.logger.error(facts, 'work item failed; the worker goes on');
    else this.logger.warn(facts, 'work item ended unfinished after the pool was stopped');
  }

  /** No item runs: the pool is idle, or it has finished. */
  private rest(): void {
    for (const idler of this.idlers.splice(0)) idler.resolve();
    if (this.state.state === 'stopped') this.finish();
  }

  private finish(): void {
    const { abandoned } = this.metrics();
    this.logger.debug({ pool: this.name, ...this.metrics() }, 'worker pool status');
    if (abandoned > 0) this.logger.warn({ pool: this.name, abandoned }, 'pool stopped with unstarted items');
    this.finished.resolve();
  }

  private end(reason: StopReason, cause: unknown): void {
    if (this.state.state === 'stopped') return;
    this.state = { state: 'stopped', reason, cause };
    const error = this.stoppedError(this.state);
    this.queue.drain().forEach(() => this.counts.dropped());
    for (const { accepted } of this.submitters.drain()) accepted.reject(error);
    for (const idler of this.idlers.splice(0)) idler.reject(error);
    this.stopping.abort(error);
    if (this.active === 0) this.finish();
  }

  private stoppedError({ reason, cause }: PoolState & { state: 'stopped' }): PoolStoppedError {
    return new PoolStoppedError(this.name, reason, cause);
  }

  private refuseFromInside(call: 'submit' | 'idle' | 'wait'): void {
    const current = runningItem.getStore();
    if (current?.pool === this && current.running) throw new PoolDeadlockError(this.name, current.id, call);
  }
}

function entryOf(item: WorkItem): Entry {
  // Not AsyncLocalStorage.snapshot(): it costs a hundred times as much on Node 20.
  return { item, id: item.id, context: new AsyncResource('WorkItem') };
}

/** Keeps the first errors up to a limit and counts the rest, so that a run of failures cannot fill the memory. */
class CollectedErrors {
  private readonly kept: Error[] = [];
  private omitted = 0;

  constructor(private readonly limit: number) {}

  add(error: Error): void {
    if (this.kept.length < this.limit) this.kept.push(error);
    else this.omitted++;
  }

  list(): Error[] {
    const last = this.omitted > 0 ? [new ErrorsOmittedError(this.omitted, this.kept.length)] : [];
    return [...this.kept, ...last];
  }
}
