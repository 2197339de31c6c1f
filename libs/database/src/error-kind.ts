import { errorCode, messageOf, type BackoffOptions } from '#service';
import {
  databaseBusy,
  databaseUnavailable,
  diskFull,
  statementTimeout,
  transactionConflict,
  transactionTimeout,
} from './database.errors.js';

interface Meaning {
  codes: string;
  /** The wait before the next try of what left nothing behind. */
  backoff?: BackoffOptions;
  /** What is thrown in the end where the database, not the work, is at fault. */
  final?: (error: unknown, tried: { tries: number; waitedMs: number; limitMs: number }) => Error;
}

/** What an error of the driver means for the transaction it ended. */
const KINDS = {
  busy: {
    // PROTOCOL: many processes opening or recovering the write-ahead log at the same instant.
    codes: 'SQLITE_BUSY SQLITE_LOCKED SQLITE_PROTOCOL',
    backoff: { baseMs: 2, maxMs: 4 },
    final: (error, { waitedMs }) => databaseBusy(waitedMs, error),
  },
  conflict: {
    codes: '40001 40P01',
    backoff: { baseMs: 20, maxMs: 1_000 },
    final: (error, { tries }) => transactionConflict(tries, error),
  },
  'connection-lost': {
    codes:
      '53300 57P01 57P02 57P03 ECONNRESET ECONNREFUSED EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH',
    backoff: { baseMs: 100, maxMs: 2_000 },
    final: (error, { tries }) =>
      databaseUnavailable(`the database connection was lost ${tries} times`, error),
  },
  'disk-full': { codes: 'SQLITE_FULL 53100', final: diskFull },
  corrupt: { codes: 'SQLITE_CORRUPT SQLITE_NOTADB' },
  // idle_in_transaction_session_timeout and transaction_timeout: the server ended a transaction that took too long.
  timeout: { codes: '25P03 25P04', final: (error, { limitMs }) => transactionTimeout(limitMs, error) },
  // The statement's limit: nothing else interrupts or cancels.
  'too-slow': { codes: 'SQLITE_INTERRUPT 57014', final: statementTimeout },
  'unique-violation': { codes: '23505' },
  other: { codes: '' },
} satisfies Record<string, Meaning>;

export type DatabaseErrorKind = keyof typeof KINDS;

const KIND_BY_CODE = new Map(
  Object.entries(KINDS).flatMap(([kind, { codes }]) =>
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

export const meaningOf = (error: unknown): Meaning => KINDS[errorKind(error)];

/** Whether a unique key refused the row, which after an unknown commit means "it was written before". */
export function isUniqueViolation(error: unknown): boolean {
  return errorKind(error) === 'unique-violation';
}

// Our own errors that say so.
const TRANSIENT = new Set(
  `DATABASE_UNAVAILABLE DATABASE_BUSY TRANSACTION_CONFLICT DISK_FULL COMMIT_UNKNOWN TRANSACTION_TIMEOUT STATEMENT_TIMEOUT
  DATABASE_CLOSED`.split(/\s+/),
);

/** Whether the database, not the work, is at fault: the same work may succeed when it is tried again later. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(errorCode(error) ?? '') || meaningOf(error).final !== undefined;
}
