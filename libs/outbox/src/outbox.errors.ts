import { CodedError } from '#service';

class OutboxError extends CodedError {}

/** An event outside a transaction could be published although what it tells of was rolled back, or the other way round. */
export const noTransaction = (operation: string): CodedError =>
  new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    `${operation} was called outside a transaction; call it with the manager that Database.inTransaction gives you`,
    { operation },
  );

/** The event could never be published. Nothing was written. */
export const invalidEvent = (eventId: string, fault: string, cause?: unknown): CodedError =>
  new OutboxError('OUTBOX_INVALID_EVENT', `event ${eventId.slice(0, 80)} cannot be appended: ${fault}`, {
    ...{ eventId, fault, cause },
  });

/** What is stored is no event that a queue could take: it was written past `append`. */
export const unreadableEvent = (eventId: string, cause?: unknown): CodedError =>
  new OutboxError(
    'OUTBOX_UNREADABLE_EVENT',
    `event ${eventId} cannot be read: payload or options are not a JSON object; correct the row, then requeue it`,
    { eventId, cause },
  );
