import { backoffMs, sleep, type BackoffOptions, type Clock } from '#service';
import {
  databaseBusy,
  databaseUnavailable,
  diskFull,
  statementTimeout,
  transactionConflict,
  transactionTimeout,
} from './database.errors.js';
import { errorKind, type DatabaseErrorKind } from './error-kind.js';

export interface RetryPolicy {
  /** Tries of a transaction that conflicts with others or loses its connection. */
  maxTries: number;
  /** How long a transaction waits in all for SQLite's lock while another process holds it. */
  busyTimeoutMs: number;
  /** How long one transaction may take, its callback included. */
  transactionTimeoutMs: number;
  clock: Clock;
  onRetry?: (kind: DatabaseErrorKind) => void;
}

const BACKOFF: Partial<Record<DatabaseErrorKind, BackoffOptions>> = {
  busy: { baseMs: 2, maxMs: 4 },
  conflict: { baseMs: 20, maxMs: 1_000 },
  'connection-lost': { baseMs: 100, maxMs: 2_000 },
};

/**
 * Runs one try after another until one commits. Only what left nothing behind is tried again: a lock that was busy (bounded
 * by time), a conflict or a connection lost before COMMIT (bounded by tries). An unknown commit, of which nobody here knows
 * whether it happened, is none of these kinds.
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
  const kind = errorKind(error);
  const isOver = kind === 'busy' ? waitedMs >= policy.busyTimeoutMs : tries >= policy.maxTries;
  const backoff = BACKOFF[kind];
  return backoff && !isOver ? backoffMs(tries, backoff) : undefined;
}

function finalError(error: unknown, tries: number, waitedMs: number, policy: RetryPolicy): unknown {
  const meanings: Partial<Record<DatabaseErrorKind, () => Error>> = {
    busy: () => databaseBusy(waitedMs, error),
    conflict: () => transactionConflict(tries, error),
    'connection-lost': () => databaseUnavailable(`the database connection was lost ${tries} times`, error),
    'disk-full': () => diskFull(error),
    timeout: () => transactionTimeout(policy.transactionTimeoutMs, error),
    'too-slow': () => statementTimeout(error),
  };
  return meanings[errorKind(error)]?.() ?? error;
}
