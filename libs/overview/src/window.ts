import type { ThroughputPoint } from '#dlq-client';

export const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Long enough to smooth the batches of one worker, short enough to notice that it is alone now. */
const SPEED_MINUTES = 5;

/** The last hour in whole minutes. */
export interface Window {
  since: number;
}

export const windowAt = (now: number): Window => ({
  since: (Math.floor(now / MINUTE_MS) - MINUTES + 1) * MINUTE_MS,
});

/** The minute of the window that a column's time is in, as SQL. */
export const bucketOf = (column: string, { since }: Window): string =>
  `((${column} - ${since}) / ${MINUTE_MS})`;

type Buckets = ReadonlyMap<number, number>;

export function throughputOf(
  { since }: Window,
  delivered: Buckets,
  failed: Buckets,
  skipped: Buckets,
): ThroughputPoint[] {
  return Array.from({ length: MINUTES }, (_, minute) => ({
    at: since + minute * MINUTE_MS,
    delivered: delivered.get(minute) ?? 0,
    failed: failed.get(minute) ?? 0,
    skipped: skipped.get(minute) ?? 0,
  }));
}

/** How long the files that are left take at the speed of the last minutes, the one that runs now included. */
export function remainingMs(left: number, points: readonly ThroughputPoint[], now: number): number | null {
  if (left === 0) return 0;
  const recent = points.slice(-SPEED_MINUTES);
  const ended = recent.reduce((sum, { delivered, failed, skipped }) => sum + delivered + failed + skipped, 0);
  const first = recent.findIndex(({ delivered, failed, skipped }) => delivered + failed + skipped > 0);
  const begun = recent[first];
  return begun ? Math.ceil((left / ended) * Math.max(1_000, now - begun.at)) : null;
}
