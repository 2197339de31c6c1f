import { MillraceError } from '#service';

/** The analyser refused the batch for good: the same request would be refused again. */
export class BatchRefusedError extends MillraceError {
  readonly code = 'BATCH_REFUSED';

  constructor(
    readonly status: number,
    answer: string,
  ) {
    super(`the analyser refused the batch with status ${status}: ${answer}; fix the cause, then requeue`);
  }
}

/** The destination takes no batch now, whatever the batch: it is away, fails, is busy, read-only or full. */
export class DestinationAwayError extends MillraceError {
  readonly code = 'DESTINATION_AWAY';
  /** It said itself that it is busy: no batch is to blame. */
  readonly busy: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly what: string,
    options: { cause?: unknown; busy?: boolean; retryAfterMs?: number | undefined } = {},
  ) {
    super(`the destination did not take the batch: ${what}`, { cause: options.cause });
    this.busy = options.busy ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The system failed to read a file of the batch; the batch is tried again, at last without it. */
export class PartUnreadError extends MillraceError {
  readonly code = 'PART_UNREAD';

  constructor(
    readonly path: string,
    readonly errno: string,
    message: string,
  ) {
    super(`${path} could not be read (${message}); check the disk or mount for ${errno}`);
  }
}

/** The folders of all files of a batch are away; the batch waits for them. */
export class BatchAwayError extends MillraceError {
  readonly code = 'BATCH_AWAY';

  constructor(
    readonly batchId: string,
    readonly path: string,
  ) {
    super(`the folders of batch ${batchId} are not there (${path} …); bring them or their mount back`);
  }
}

/** The event names a batch that this database has not committed: another system's event, or a restored backup. */
export class UnknownBatchError extends MillraceError {
  readonly code = 'UNKNOWN_BATCH';

  constructor(readonly batchId: string) {
    super(`batch ${batchId} is not in the database; check that all apps share DATABASE_URL, then requeue`);
  }
}
