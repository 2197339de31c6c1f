/** How long a job is a worker's without renewal. A killed worker's jobs run again within 15 s (lock + two checks). */
export const LOCK_MS = 10_000;
const STALLED_CHECK_MS = 5_000;

/**
 * The reliability settings of every worker; callers cannot change them. BullMQ's own stall limit stands beyond ours
 * (see suspects.ts), which tells crashed from excused.
 */
export const STANDARD = {
  lockDuration: LOCK_MS,
  stalledInterval: STALLED_CHECK_MS,
  maxStalledCount: 100,
  drainDelay: 5,
  runRetryDelay: 1_000,
  autorun: false,
} as const;
