import { backoffMs, sleep, type Clock } from '#service';
import { errorKind, meaningOf, type DatabaseErrorKind } from './error-kind.js';

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

/**
 * Runs one try after another until one commits. Only what left nothing behind is tried again: a lock that was busy (bounded
 * by time), a conflict or a connection lost before COMMIT (bounded by tries). An unknown commit, of which nobody here knows
 * whether it happened, is none of these kinds.
 */
export async function retryTransaction<T>(attempt: () => Promise<T>, policy: RetryPolicy): Promise<T> {
  const startedAt = policy.clock.monotonic();
  const limitMs = policy.transactionTimeoutMs;
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const waitedMs = Math.round(policy.clock.monotonic() - startedAt);
      const delayMs = retryDelayMs(error, tries, waitedMs, policy);
      if (delayMs === undefined) throw meaningOf(error).final?.(error, { tries, waitedMs, limitMs }) ?? error;
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
  const isOver = errorKind(error) === 'busy' ? waitedMs >= policy.busyTimeoutMs : tries >= policy.maxTries;
  const { backoff } = meaningOf(error);
  return backoff && !isOver ? backoffMs(tries, backoff) : undefined;
}
