export interface BackoffOptions {
  /** Ceiling of the first delay. */
  baseMs: number;
  /** Ceiling of every delay. */
  maxMs: number;
}

/**
 * Exponential backoff with full jitter: a uniform draw from [0, min(max, base × 2^attempt)), never below 1 ms.
 * Pure in attempt (0 is the first) and random source, so a fleet that fails together does not return together.
 */
export function backoffMs(
  attempt: number,
  { baseMs, maxMs }: BackoffOptions,
  random: () => number = Math.random,
): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(attempt, 0), 30));
  return Math.max(1, Math.floor(random() * ceiling));
}
