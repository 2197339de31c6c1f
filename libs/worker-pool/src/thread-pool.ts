import type { TransferListItem } from 'node:worker_threads';
import { within, type Metrics, type Service } from '#service';
import { PoolCounts, type Outcome, type PoolMetrics } from './pool-counts.js';
import { ThreadSet, type ThreadSetOptions } from './thread-set.js';
import { fromWire, TASK_FLAG, threadTime, type ThreadReply, type ThreadRequest } from './thread-wire.js';
import {
  poolFull,
  poolStopped,
  taskAborted,
  taskNotCloneable,
  ThreadDiedError,
  wholeNumber,
} from './worker-pool.errors.js';

export interface ThreadPoolOptions extends ThreadSetOptions {
  /** The built thread file; see `threadFile`. Its default export is a ThreadHandler. */
  file: URL;
  metrics?: Metrics;
  /** Threads that other pools use, too; the pool's own unless given. */
  set?: ThreadSet | undefined;
  /** Handed to every task as `context.data`. */
  data?: unknown;
  /** Tasks that may wait for a thread; more are refused with POOL_FULL. */
  maxQueue?: number;
  /** How long an aborted task may go on before its thread is terminated. */
  abortGraceMs?: number;
}

export interface RunOptions {
  signal?: AbortSignal;
  /** How long the task may take from when a thread begins it; then it is aborted. */
  limitMs?: number;
  transferList?: readonly TransferListItem[];
}

const MAX_QUEUE = 1000;
const ABORT_GRACE_MS = 1000;
// A thread inside native code ends only when it returns from it; shutdown does not wait for that.
const TERMINATE_LIMIT_MS = 2000;

interface Task {
  /** Shared with the thread; see TASK_FLAG. */
  readonly flags: Int32Array;
  /** Takes the task out of the queue, or terminates its thread. */
  readonly kill: AbortController;
  /** Set once the task is to end early: what it rejects with, unless it finishes first. */
  aborted?: Error;
  /** Until its time is over, or its grace. */
  timer?: NodeJS.Timeout;
}

/**
 * CPU work on threads, so that the event loop never stalls: piscina, and what it lacks. One task a thread at a time, first
 * come first served.
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
  private readonly set: ThreadSet;
  /** Each with its end. */
  private readonly tasks = new Map<Task, Promise<unknown>>();
  private readonly counts: PoolCounts;
  private readonly maxQueue: number;
  private readonly abortGraceMs: number;

  constructor(private readonly options: ThreadPoolOptions) {
    this.name = options.name ?? 'threads';
    this.set = options.set ?? new ThreadSet({ ...options, name: this.name });
    this.threads = Math.min(wholeNumber('threads', options.threads ?? this.set.threads, 1), this.set.threads);
    this.maxQueue = wholeNumber('maxQueue', options.maxQueue ?? MAX_QUEUE, 0);
    this.abortGraceMs = wholeNumber('abortGraceMs', options.abortGraceMs ?? ABORT_GRACE_MS, 0);
    const active = (): number => [...this.tasks.keys()].filter(({ flags }) => begunAt(flags) !== 0).length;
    this.counts = new PoolCounts(this.name, options.metrics, active);
  }

  /** Starts the threads and loads their file; without it the first tasks do. Opens a closed pool again. */
  async start(signal: AbortSignal = new AbortController().signal): Promise<void> {
    signal.throwIfAborted();
    await this.closed;
    this.closed = undefined;
    const each = Array.from({ length: this.threads }, () => this.send(undefined, signal));
    const failed = (await Promise.allSettled(each)).find((loaded) => loaded.status === 'rejected');
    if (!failed) return;
    await this.set.leave(this);
    throw failed.reason;
  }

  /** Refuses new tasks, gives up queued ones, aborts running ones and ends the threads. Bounded and idempotent. */
  stop(): Promise<void> {
    return (this.closed ??= this.shutDown());
  }

  async run<T>(task: unknown, { signal, limitMs, transferList }: RunOptions = {}): Promise<T> {
    if (this.closed) throw poolStopped(this.name, 'stopped');
    if (signal?.aborted) throw taskAborted(this.name, signal.reason);
    if (this.tasks.size >= this.threads + this.maxQueue) throw poolFull(this.name, this.maxQueue);
    const one: Task = { flags: new Int32Array(new SharedArrayBuffer(8)), kill: new AbortController() };
    const onAbort = (): void => this.abort(one, taskAborted(this.name, signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (limitMs !== undefined) this.limit(one, limitMs);
    const ended = this.send({ task, flags: one.flags }, one.kill.signal, transferList);
    this.tasks.set(one, ended);
    this.counts.count('queued');
    let outcome: Outcome = 'processed';
    try {
      return (await ended) as T;
    } catch (error) {
      outcome = one.aborted ? 'abandoned' : 'failed';
      if (error instanceof ThreadDiedError && !one.aborted)
        this.options.logger.warn(
          { err: error.cause, pool: this.name },
          'a thread died during a task and is replaced',
        );
      throw one.aborted ?? error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      clearTimeout(one.timer);
      this.tasks.delete(one);
      this.counts.count(outcome);
    }
  }

  /** Refuses tasks until it is started again. */
  get isClosed(): boolean {
    return this.closed !== undefined;
  }

  /** Threads that exist now. */
  get alive(): number {
    return this.set.alive;
  }

  metrics(): PoolMetrics {
    return this.counts.read();
  }

  /** Settles with what the handler said; rejects otherwise when the thread died or the message cannot pass. */
  private async send(
    work: ThreadRequest['work'],
    kill: AbortSignal,
    transferList: readonly TransferListItem[] = [],
  ): Promise<unknown> {
    const { file, data } = this.options;
    const request: ThreadRequest = { file: file.href, data, work };
    const sent = this.set.run(this, request, { transferList: [...transferList], signal: kill });
    const reply = await (sent as Promise<ThreadReply>).catch((cause: unknown) => {
      throw isCloneError(cause) ? taskNotCloneable(this.name, cause) : new ThreadDiedError(this.name, cause);
    });
    if (!reply.ok) throw fromWire(reply.error);
    return reply.value;
  }

  private abort(task: Task, error: Error): void {
    if (task.aborted) return;
    task.aborted = error;
    clearTimeout(task.timer);
    Atomics.store(task.flags, TASK_FLAG.aborted, 1);
    if (begunAt(task.flags) === 0) task.kill.abort();
    else task.timer = setTimeout(() => task.kill.abort(), this.abortGraceMs);
  }

  /** Aborts the task when a thread has had it for so long. */
  private limit(task: Task, limitMs: number): void {
    const begun = begunAt(task.flags);
    const left = begun === 0 ? limitMs : limitMs - ((threadTime() - begun) | 0);
    const reason = new Error(`it took longer than ${limitMs} ms`);
    if (left <= 0) this.abort(task, taskAborted(this.name, reason));
    else task.timer = setTimeout(() => this.limit(task, limitMs), left);
  }

  private async shutDown(): Promise<void> {
    const error = poolStopped(this.name, 'stopped');
    const tasks = [...this.tasks];
    for (const [task] of tasks) this.abort(task, error);
    await Promise.allSettled(tasks.map(([, ended]) => ended));
    await within(TERMINATE_LIMIT_MS, this.set.leave(this), () =>
      this.options.logger.warn({ pool: this.name }, 'threads were still in native code when the pool closed'),
    );
  }
}

/** When a thread began it, as `threadTime` tells; 0 while it waits. */
function begunAt(flags: Int32Array): number {
  return Atomics.load(flags, TASK_FLAG.begun);
}

function isCloneError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'DataCloneError';
}
