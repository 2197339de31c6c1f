import { inspect } from 'node:util';
import { MillraceError } from '#service';

/** Why a pool takes no more work: its owner stopped it, or the signal it was given aborted. */
export type StopReason = 'stopped' | 'aborted';

class InvalidPoolOptionError extends MillraceError {
  readonly code = 'INVALID_POOL_OPTION';

  constructor(
    readonly option: string,
    readonly found: unknown,
    readonly allowed: string,
  ) {
    super(`pool option ${option} is ${inspect(found)}; give ${allowed}`);
  }
}

/** The value, if it is a whole number of at least `least`; otherwise an error that names what was found and allowed. */
export function wholeNumber(option: string, found: number, least: number): number {
  if (Number.isSafeInteger(found) && found >= least) return found;
  throw new InvalidPoolOptionError(option, found, `a whole number of at least ${least}`);
}

export class PoolStoppedError extends MillraceError {
  readonly code = 'POOL_STOPPED';

  constructor(
    readonly pool: string,
    readonly reason: StopReason,
    cause?: unknown,
  ) {
    super(`pool ${pool} was ${reason} and takes no more work; keep what was not accepted for the next run`, {
      cause,
    });
  }
}

export class PoolFullError extends MillraceError {
  readonly code = 'POOL_FULL';

  constructor(
    readonly pool: string,
    readonly capacity: number,
  ) {
    super(
      `the queue of thread pool ${pool} holds its ${capacity} tasks already; await results before starting more, or raise maxQueue`,
    );
  }
}

/** What `WorkerPool.wait` returns for each item that threw or rejected; `cause` is what it threw, as it was. */
export class ItemFailedError extends MillraceError {
  readonly code = 'ITEM_FAILED';

  constructor(
    readonly item: string,
    cause: unknown,
  ) {
    super(`item ${item} failed: ${describe(cause)}`, { cause });
  }
}

/** The last entry of `WorkerPool.wait` when more items failed than the pool keeps errors. */
export class ErrorsOmittedError extends MillraceError {
  readonly code = 'ERRORS_OMITTED';

  constructor(
    readonly omitted: number,
    readonly kept: number,
  ) {
    super(
      `${omitted} more items failed than the ${kept} whose errors are kept; the log has each of them, or raise maxErrors`,
    );
  }
}

export class ThreadDiedError extends MillraceError {
  readonly code = 'THREAD_DIED';

  constructor(
    readonly pool: string,
    cause: unknown,
  ) {
    super(
      `the thread of pool ${pool} died during this task and was replaced (${describe(cause)}); a retry may succeed, a second death marks the input as poison`,
      { cause },
    );
  }
}

export class TaskAbortedError extends MillraceError {
  readonly code = 'TASK_ABORTED';

  constructor(
    readonly pool: string,
    cause: unknown,
  ) {
    super(`the task on thread pool ${pool} was aborted by its caller`, { cause });
  }
}

export class TaskNotCloneableError extends MillraceError {
  readonly code = 'TASK_NOT_CLONEABLE';

  constructor(
    readonly pool: string,
    cause: unknown,
  ) {
    super(
      `a task or result of thread pool ${pool} cannot pass between threads (${describe(cause)}); pass paths and plain values`,
      { cause },
    );
  }
}

export class ThreadFileMissingError extends MillraceError {
  readonly code = 'THREAD_FILE_MISSING';

  constructor(readonly file: string) {
    super(`thread file ${file} does not exist; threads run built code: run npm run build`);
  }
}

/** Anything may be thrown, also what `String` chokes on; an error from a thread is not always a native one. */
function describe(thrown: unknown): string {
  const message = (thrown as { message?: unknown } | null | undefined)?.message;
  return typeof message === 'string' ? message : inspect(thrown, { depth: 1, maxStringLength: 200 });
}
