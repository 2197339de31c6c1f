import { availableParallelism } from 'node:os';
import type { ResourceLimits, TransferListItem } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { within, type Logger, type Metrics, type Service } from '#service';
import { PoolCounts, type Outcome, type PoolMetrics } from './pool-counts.js';
import { threadFile } from './thread-file.js';
import {
  fromWire,
  TASK_FLAG,
  type ThreadReply,
  type ThreadRequest,
  type ThreadSetup,
} from './thread-wire.js';
import {
  poolFull,
  poolStopped,
  taskAborted,
  taskNotCloneable,
  ThreadDiedError,
  wholeNumber,
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
  /** Tasks that may wait for a thread; more are refused with POOL_FULL. */
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

// piscina loads our entry, an ES module, by `require` first. Node aborts the whole process when a thread is terminated in the
// middle of that; told not to, it refuses, and piscina imports it.
const REQUIRE_MODULE = '--experimental-require-module';
const THREAD_ARGUMENTS = [
  '--enable-source-maps',
  ...(process.allowedNodeEnvironmentFlags.has(REQUIRE_MODULE) ? ['--no-experimental-require-module'] : []),
];

interface Task {
  /** Shared with the thread; see TASK_FLAG. */
  readonly flags: Int32Array;
  /** Takes the task out of the queue, or terminates its thread. */
  readonly kill: AbortController;
  /** Set once the task is to end early: what it rejects with, unless it finishes first. */
  aborted?: { error: Error; grace?: NodeJS.Timeout };
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
  private piscina: Piscina | undefined;
  /** Each with its end. */
  private readonly tasks = new Map<Task, Promise<unknown>>();
  private readonly counts: PoolCounts;
  private readonly maxQueue: number;
  private readonly abortGraceMs: number;

  constructor(private readonly options: ThreadPoolOptions) {
    this.name = options.name ?? 'threads';
    this.threads = wholeNumber('threads', options.threads ?? availableParallelism(), 1);
    this.maxQueue = wholeNumber('maxQueue', options.maxQueue ?? MAX_QUEUE, 0);
    this.abortGraceMs = wholeNumber('abortGraceMs', options.abortGraceMs ?? ABORT_GRACE_MS, 0);
    const active = (): number => this.tasks.size - Math.min(this.tasks.size, this.piscina?.queueSize ?? 0);
    this.counts = new PoolCounts(this.name, options.metrics, active);
  }

  /** Starts the threads and loads their file; without it the first tasks do. Opens a closed pool again. */
  async start(signal: AbortSignal = new AbortController().signal): Promise<void> {
    signal.throwIfAborted();
    await this.closed;
    this.closed = undefined;
    const each = Array.from({ length: this.threads }, () => this.send({ kind: 'load' }, signal));
    const failed = (await Promise.allSettled(each)).find((loaded) => loaded.status === 'rejected');
    if (!failed) return;
    await this.terminate();
    throw failed.reason;
  }

  /** Refuses new tasks, gives up queued ones, aborts running ones and ends the threads. Bounded and idempotent. */
  stop(): Promise<void> {
    this.closed ??= this.shutDown();
    return this.closed;
  }

  async run<T>(task: unknown, { signal, transferList }: RunOptions = {}): Promise<T> {
    if (this.closed) throw poolStopped(this.name, 'stopped');
    if (signal?.aborted) throw taskAborted(this.name, signal.reason);
    if (this.tasks.size >= this.threads + this.maxQueue) throw poolFull(this.name, this.maxQueue);
    const one: Task = { flags: new Int32Array(new SharedArrayBuffer(8)), kill: new AbortController() };
    const onAbort = (): void => this.abort(one, taskAborted(this.name, signal?.reason));
    signal?.addEventListener('abort', onAbort, { once: true });
    const ended = this.send({ kind: 'task', task, flags: one.flags }, one.kill.signal, transferList);
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
      throw one.aborted?.error ?? error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      clearTimeout(one.aborted?.grace);
      this.tasks.delete(one);
      this.counts.count(outcome);
    }
  }

  /** Threads that exist now. */
  get alive(): number {
    return this.piscina?.threads.length ?? 0;
  }

  metrics(): PoolMetrics {
    return this.counts.read();
  }

  /** Settles with what the handler said; rejects otherwise when the thread died or the message cannot pass. */
  private async send(
    request: ThreadRequest,
    kill: AbortSignal,
    transferList: readonly TransferListItem[] = [],
  ): Promise<unknown> {
    this.piscina ??= this.create();
    const sent = this.piscina.run(request, { transferList: [...transferList], signal: kill });
    const reply = await (sent as Promise<ThreadReply>).catch((cause: unknown) => {
      throw isCloneError(cause) ? taskNotCloneable(this.name, cause) : new ThreadDiedError(this.name, cause);
    });
    if (!reply.ok) throw fromWire(reply.error);
    return reply.value;
  }

  private abort(task: Task, error: Error): void {
    if (task.aborted) return;
    task.aborted = { error };
    Atomics.store(task.flags, TASK_FLAG.aborted, 1);
    if (Atomics.load(task.flags, TASK_FLAG.started) === 0) task.kill.abort();
    else task.aborted.grace = setTimeout(() => task.kill.abort(), this.abortGraceMs);
  }

  private async shutDown(): Promise<void> {
    const error = poolStopped(this.name, 'stopped');
    const tasks = [...this.tasks];
    for (const [task] of tasks) this.abort(task, error);
    await Promise.allSettled(tasks.map(([, ended]) => ended));
    await within(TERMINATE_LIMIT_MS, this.terminate(), () =>
      this.options.logger.warn({ pool: this.name }, 'threads were still in native code when the pool closed'),
    );
  }

  /** Terminates all threads; what they were doing counts as died. A later task starts new ones. */
  private async terminate(): Promise<void> {
    const { piscina } = this;
    this.piscina = undefined;
    await piscina?.destroy();
  }

  private create(): Piscina {
    const { file, workerData: data, resourceLimits, logger } = this.options;
    const setup: ThreadSetup = { file: file.href, data };
    const piscina = new Piscina({
      filename: fileURLToPath(threadFile(import.meta.url, './entry.thread.js')),
      minThreads: this.threads,
      maxThreads: this.threads,
      stricterFIFO: true,
      workerData: setup,
      recordTiming: false,
      execArgv: THREAD_ARGUMENTS,
      ...(resourceLimits && { resourceLimits }),
    });
    piscina.on('error', (err) => logger.error({ err, pool: this.name }, 'a thread died between tasks'));
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

function isCloneError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'DataCloneError';
}
