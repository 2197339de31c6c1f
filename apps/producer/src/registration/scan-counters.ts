import type { SkipReason } from '#files';
import { addReasons, type LeaveOutReason, type ListingCounts } from '#tree';

const NOTHING = {
  ...{ folders: 0, files: 0, bytes: 0, created: 0, changed: 0, unchanged: 0, removed: 0, enqueued: 0 },
  ...{ hashed: 0, hashedBytes: 0, errors: 0 },
  /** Files of the root that stay skipped for a reason that the outside can undo; the next scan has them looked at. */
  open: 0,
};

/** What a scan has done so far, over all its interruptions. Stored with the rows it counts, in their transaction. */
export interface ScanCounters extends Record<keyof typeof NOTHING, number> {
  skipped: Partial<Record<SkipReason, number>>;
  leftOut: Partial<Record<LeaveOutReason, number>>;
}

export function noScanCounters(): ScanCounters {
  return { ...NOTHING, skipped: {}, leftOut: {} };
}

type CounterDelta = Partial<Omit<ScanCounters, 'skipped' | 'leftOut'>> & {
  listing?: ListingCounts;
};

/** A new set of counters; the old one stays as it is, since a transaction may be tried again. */
export function plus(counters: ScanCounters, { listing, ...numbers }: CounterDelta): ScanCounters {
  const sum: ScanCounters = {
    ...counters,
    skipped: { ...counters.skipped },
    leftOut: { ...counters.leftOut },
  };
  for (const key of Object.keys(numbers) as (keyof typeof numbers)[]) sum[key] += numbers[key] ?? 0;
  if (!listing) return sum;
  sum.files += listing.files;
  sum.bytes += listing.bytes;
  addReasons(sum.skipped, listing.skipped);
  addReasons(sum.leftOut, listing.leftOut);
  return sum;
}

/** Counters as an older build may have stored them, with what it did not know at zero. */
export function restoredCounters(stored: unknown): ScanCounters {
  return { ...noScanCounters(), ...(typeof stored === 'object' ? (stored as Partial<ScanCounters>) : {}) };
}
