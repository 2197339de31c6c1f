import { inspect } from 'node:util';
import { CodedError } from '#service';

/** Why a pool takes no more work: its owner stopped it, or the signal it was given aborted. */
export type StopReason = 'stopped' | 'aborted';

export class PoolError extends CodedError {}

/** The value, if it is a whole number of at least `least`; otherwise an error that names what was found and allowed. */
export function wholeNumber(option: string, found: number, least: number): number {
  if (Number.isSafeInteger(found) && found >= least) return found;
  const message = `pool option ${option} is ${inspect(found)}; give a whole number of at least ${least}`;
  throw new PoolError('INVALID_POOL_OPTION', message, { option, found });
}

export const poolStopped = (pool: string, reason: StopReason, cause?: unknown): PoolError =>
  new PoolError(
    'POOL_STOPPED',
    `pool ${pool} was ${reason} and takes no more work; keep what was not accepted for the next run`,
    { pool, reason, cause },
  );

export const poolFull = (pool: string, capacity: number): PoolError =>
  new PoolError(
    'POOL_FULL',
    `the queue of thread pool ${pool} holds its ${capacity} tasks already; await results before starting more, or raise maxQueue`,
    { pool, capacity },
  );

/** What `WorkerPool.wait` returns for each item that threw or rejected; `cause` is what it threw, as it was. */
export class ItemFailedError extends CodedError {
  constructor(
    readonly item: string,
    cause: unknown,
  ) {
    super('ITEM_FAILED', `item ${item} failed: ${describe(cause)}`, { cause });
  }
}

/** The last entry of `WorkerPool.wait` when more items failed than the pool keeps errors. */
export const errorsOmitted = (omitted: number, kept: number): PoolError =>
  new PoolError(
    'ERRORS_OMITTED',
    `${omitted} more items failed than the ${kept} whose errors are kept; the log has each of them, or raise maxErrors`,
    { omitted, kept },
  );

export class ThreadDiedError extends CodedError {
  constructor(pool: string, cause: unknown) {
    const cure = 'a retry may succeed, a second death marks the input as poison';
    const message = `the thread of pool ${pool} died during this task and was replaced (${describe(cause)}); ${cure}`;
    super('THREAD_DIED', message, { pool, cause });
  }
}

export const taskAborted = (pool: string, cause: unknown): PoolError =>
  new PoolError('TASK_ABORTED', `the task on thread pool ${pool} was aborted by its caller`, { pool, cause });

export const taskNotCloneable = (pool: string, cause: unknown): PoolError =>
  new PoolError(
    'TASK_NOT_CLONEABLE',
    `a task or result of thread pool ${pool} cannot pass between threads (${describe(cause)}); pass paths and plain values`,
    { pool, cause },
  );

export const threadFileMissing = (file: string): PoolError =>
  new PoolError(
    'THREAD_FILE_MISSING',
    `thread file ${file} does not exist; threads run built code: run npm run build`,
    { file },
  );

/** Anything may be thrown, also what `String` chokes on; an error from a thread is not always a native one. */
function describe(thrown: unknown): string {
  const message = (thrown as { message?: unknown } | null | undefined)?.message;
  return typeof message === 'string' ? message : inspect(thrown, { depth: 1, maxStringLength: 200 });
}
