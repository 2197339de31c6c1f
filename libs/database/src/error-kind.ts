import { errorCode, messageOf } from '#service';

/** What an error of the driver means for the transaction it ended. */
export type DatabaseErrorKind =
  | 'busy'
  | 'conflict'
  | 'connection-lost'
  | 'disk-full'
  | 'corrupt'
  | 'timeout'
  | 'too-slow'
  | 'unique-violation'
  | 'other';

const CODES: Partial<Record<DatabaseErrorKind, string>> = {
  // PROTOCOL: many processes opening or recovering the write-ahead log at the same instant.
  busy: 'SQLITE_BUSY SQLITE_LOCKED SQLITE_PROTOCOL',
  conflict: '40001 40P01',
  'connection-lost':
    '53300 57P01 57P02 57P03 ECONNRESET ECONNREFUSED EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH',
  'disk-full': 'SQLITE_FULL 53100',
  corrupt: 'SQLITE_CORRUPT SQLITE_NOTADB',
  // idle_in_transaction_session_timeout and transaction_timeout: the server ended a transaction that took too long.
  timeout: '25P03 25P04',
  // The statement's limit: nothing else interrupts or cancels.
  'too-slow': 'SQLITE_INTERRUPT 57014',
  'unique-violation': '23505',
};
const KIND_BY_CODE = new Map(
  Object.entries(CODES).flatMap(([kind, codes]) =>
    codes.split(' ').map((code) => [code, kind as DatabaseErrorKind] as const),
  ),
);

// pg and TypeORM give these no code.
const CONNECTION_LOST_TEXT =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|not queryable|Query runner already released|query runner was already released|Driver not Connected|pool is draining|after calling end on the pool/i;

export function errorKind(error: unknown): DatabaseErrorKind {
  const code = errorCode(error) ?? '';
  const message = messageOf(error);
  if (code === 'SQLITE_CONSTRAINT') return /UNIQUE|PRIMARY KEY/.test(message) ? 'unique-violation' : 'other';
  if (code.startsWith('08')) return 'connection-lost';
  if (code === '' && CONNECTION_LOST_TEXT.test(message)) return 'connection-lost';
  return KIND_BY_CODE.get(code) ?? 'other';
}

/** Whether a unique key refused the row, which after an unknown commit means "it was written before". */
export function isUniqueViolation(error: unknown): boolean {
  return errorKind(error) === 'unique-violation';
}

// Our own errors, and the driver's, that say so.
const TRANSIENT = new Set(
  `DATABASE_UNAVAILABLE DATABASE_BUSY TRANSACTION_CONFLICT DISK_FULL COMMIT_UNKNOWN TRANSACTION_TIMEOUT STATEMENT_TIMEOUT
  DATABASE_CLOSED busy conflict connection-lost disk-full timeout too-slow`.split(/\s+/),
);

/** Whether the database, not the work, is at fault: the same work may succeed when it is tried again later. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(errorCode(error) ?? '') || TRANSIENT.has(errorKind(error));
}
