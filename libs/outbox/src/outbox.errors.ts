import { MillraceError } from '#service';

/** An event outside a transaction could be published although what it tells of was rolled back, or the other way round. */
export class NoTransactionError extends MillraceError {
  readonly code = 'OUTBOX_NO_TRANSACTION';

  constructor(readonly operation: string) {
    super(
      `${operation} was called outside a transaction; call it with the manager that Database.inTransaction gives you`,
    );
  }
}

/** The event could never be published. Nothing was written. */
export class InvalidEventError extends MillraceError {
  readonly code = 'OUTBOX_INVALID_EVENT';

  constructor(
    readonly eventId: string,
    readonly fault: string,
    cause?: unknown,
  ) {
    super(`event ${eventId.slice(0, 80)} cannot be appended: ${fault}`, { cause });
  }
}

/** What is stored is no event that a queue could take: it was written past `append`. */
export class UnreadableEventError extends MillraceError {
  readonly code = 'OUTBOX_UNREADABLE_EVENT';

  constructor(
    readonly eventId: string,
    cause: unknown,
  ) {
    super(
      `event ${eventId} cannot be read: payload or options are not a JSON object; correct the row, then revive it`,
      {
        cause,
      },
    );
  }
}
