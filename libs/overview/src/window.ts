import type { ThroughputPoint } from '#dlq-client';

export const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Long enough to smooth the batches of one worker, short enough to notice that it is alone now. */
const SPEED_MINUTES = 5;

/** The last hour in whole minutes, and what ended in each. */
export type Window = ThroughputPoint[];

export const windowAt = (now: number): Window =>
  Array.from({ length: MINUTES }, (_, minute) => ({
    at: (Math.floor(now / MINUTE_MS) - MINUTES + 1 + minute) * MINUTE_MS,
    ...{ delivered: 0, failed: 0, skipped: 0 },
  }));

export const beginOf = (window: Window): number => window[0]?.at ?? 0;

/** The minute of the window that a column's time is in, as SQL. */
export const bucketOf = (column: string, window: Window): string =>
  `((${column} - ${beginOf(window)}) / ${MINUTE_MS})`;

export function addTo(
  window: Window,
  what: 'delivered' | 'failed' | 'skipped',
  { bucket, n }: { bucket: number; n: number },
): void {
  const point = window[bucket];
  if (point) point[what] += n;
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
