import { errorCode } from '#service';

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

const BY_CODE: Record<string, DatabaseErrorKind> = {
  SQLITE_BUSY: 'busy',
  SQLITE_LOCKED: 'busy',
  // Many processes opening or recovering the write-ahead log at the same instant.
  SQLITE_PROTOCOL: 'busy',
  // The statement's limit: nothing else interrupts or cancels.
  SQLITE_INTERRUPT: 'too-slow',
  '57014': 'too-slow',
  SQLITE_FULL: 'disk-full',
  SQLITE_CORRUPT: 'corrupt',
  SQLITE_NOTADB: 'corrupt',
  '40001': 'conflict',
  '40P01': 'conflict',
  '53100': 'disk-full',
  '53300': 'connection-lost',
  '57P01': 'connection-lost',
  '57P02': 'connection-lost',
  '57P03': 'connection-lost',
  '23505': 'unique-violation',
  // idle_in_transaction_session_timeout and transaction_timeout: the server ended a transaction that took too long.
  '25P03': 'timeout',
  '25P04': 'timeout',
  ECONNRESET: 'connection-lost',
  ECONNREFUSED: 'connection-lost',
  EPIPE: 'connection-lost',
  ETIMEDOUT: 'connection-lost',
  ENOTFOUND: 'connection-lost',
  EAI_AGAIN: 'connection-lost',
  EHOSTUNREACH: 'connection-lost',
  ENETUNREACH: 'connection-lost',
};

// pg and TypeORM give these no code.
const CONNECTION_LOST_TEXT =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|not queryable|Query runner already released|query runner was already released|Driver not Connected|pool is draining|after calling end on the pool/i;

export function errorKind(error: unknown): DatabaseErrorKind {
  const code = codeOf(error);
  const message = messageOf(error);
  if (code === 'SQLITE_CONSTRAINT') return /UNIQUE|PRIMARY KEY/.test(message) ? 'unique-violation' : 'other';
  if (code.startsWith('08')) return 'connection-lost';
  const known = BY_CODE[code];
  if (known) return known;
  return code === '' && CONNECTION_LOST_TEXT.test(message) ? 'connection-lost' : 'other';
}

/** Reads the field itself: an error of the runtime need not be an instance of this realm's Error. */
export function codeOf(error: unknown): string {
  return fieldOf(error, 'code');
}

export function messageOf(error: unknown): string {
  return fieldOf(error, 'message');
}

function fieldOf(error: unknown, field: 'code' | 'message'): string {
  if (typeof error !== 'object' || error === null || !(field in error)) return '';
  const value = (error as Record<string, unknown>)[field];
  return typeof value === 'string' ? value : '';
}

/** Whether a unique key refused the row, which after an unknown commit means "it was written before". */
export function isUniqueViolation(error: unknown): boolean {
  return errorKind(error) === 'unique-violation';
}

// Our own errors, and the driver's, that say so.
const TRANSIENT_CODES = [
  'DATABASE_UNAVAILABLE',
  'DATABASE_BUSY',
  'TRANSACTION_CONFLICT',
  'DISK_FULL',
  'COMMIT_UNKNOWN',
  'TRANSACTION_TIMEOUT',
  'STATEMENT_TIMEOUT',
  'DATABASE_CLOSED',
];
const TRANSIENT_KINDS: DatabaseErrorKind[] = [
  'busy',
  'conflict',
  'connection-lost',
  'disk-full',
  'timeout',
  'too-slow',
];

/** Whether the database, not the work, is at fault: the same work may succeed when it is tried again later. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT_CODES.includes(errorCode(error) ?? '') || TRANSIENT_KINDS.includes(errorKind(error));
}
