import { errorCode } from '#service';
import { errorKind, type DatabaseErrorKind } from './error-kind.js';

const CODES = [
  'DATABASE_UNAVAILABLE',
  'DATABASE_BUSY',
  'TRANSACTION_CONFLICT',
  'DISK_FULL',
  'COMMIT_UNKNOWN',
  'TRANSACTION_TIMEOUT',
  'STATEMENT_TIMEOUT',
  'DATABASE_CLOSED',
];
const KINDS: DatabaseErrorKind[] = [
  'busy',
  'conflict',
  'connection-lost',
  'disk-full',
  'timeout',
  'too-slow',
];

/** Whether the database, not the work, is at fault: the same work may succeed when it is tried again later. */
export function isTransient(error: unknown): boolean {
  return CODES.includes(errorCode(error) ?? '') || KINDS.includes(errorKind(error));
}
