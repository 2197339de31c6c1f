import { backoffMs, sleep, type Clock } from '#service';
import {
  CommitUnknownError,
  databaseBusy,
  databaseUnavailable,
  diskFull,
  statementTimeout,
  transactionConflict,
  transactionTimeout,
} from './database.errors.js';
import { errorKind, type DatabaseErrorKind } from './error-kind.js';

export interface RetryPolicy {
  /** Tries of a transaction that conflicts or loses its connection. */
  maxTries: number;
  /** How long to wait in all for SQLite's lock. */
  busyTimeoutMs: number;
  transactionTimeoutMs: number;
  clock: Clock;
  onRetry?: (kind: DatabaseErrorKind) => void;
}

const BUSY_BACKOFF = { baseMs: 2, maxMs: 4 };
const CONFLICT_BACKOFF = { baseMs: 20, maxMs: 1_000 };
const CONNECTION_BACKOFF = { baseMs: 100, maxMs: 2_000 };

/**
 * Runs one try after another until one commits. Only what left nothing behind is tried again: a lock that was busy (bounded
 * by time), a conflict or a connection lost before COMMIT (bounded by tries). An unknown commit is never tried again here.
 */
export async function retryTransaction<T>(attempt: () => Promise<T>, policy: RetryPolicy): Promise<T> {
  const startedAt = policy.clock.monotonic();
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const waitedMs = Math.round(policy.clock.monotonic() - startedAt);
      const delayMs = retryDelayMs(error, tries, waitedMs, policy);
      if (delayMs === undefined) throw finalError(error, tries, waitedMs, policy);
      policy.onRetry?.(errorKind(error));
      await sleep(delayMs);
    }
  }
}

/** How long to wait before the next try; undefined when there is none. */
export function retryDelayMs(
  error: unknown,
  tries: number,
  waitedMs: number,
  policy: Pick<RetryPolicy, 'maxTries' | 'busyTimeoutMs'>,
): number | undefined {
  if (error instanceof CommitUnknownError) return undefined;
  const kind = errorKind(error);
  if (kind === 'busy') return waitedMs < policy.busyTimeoutMs ? backoffMs(tries, BUSY_BACKOFF) : undefined;
  if (tries >= policy.maxTries) return undefined;
  if (kind === 'conflict') return backoffMs(tries, CONFLICT_BACKOFF);
  if (kind === 'connection-lost') return backoffMs(tries, CONNECTION_BACKOFF);
  return undefined;
}

function finalError(error: unknown, tries: number, waitedMs: number, policy: RetryPolicy): unknown {
  if (error instanceof CommitUnknownError) return error;
  switch (errorKind(error)) {
    case 'busy':
      return databaseBusy(waitedMs, error);
    case 'conflict':
      return transactionConflict(tries, error);
    case 'connection-lost':
      return databaseUnavailable(`the database connection was lost ${tries} times`, error);
    case 'disk-full':
      return diskFull(error);
    case 'timeout':
      return transactionTimeout(policy.transactionTimeoutMs, error);
    case 'too-slow':
      return statementTimeout(error);
    case 'corrupt':
    case 'unique-violation':
    case 'other':
      return error;
  }
}
