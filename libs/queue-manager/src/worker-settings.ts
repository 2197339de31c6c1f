/**
 * The times by which the death of a worker is told from its silence. A killed worker's jobs run again within 15 s (lock + two
 * checks); a test pins these.
 */
const PRODUCTION = {
  /** How long a job is a worker's without renewal. */
  lockMs: 10_000,
  stalledCheckMs: 5_000,
  /** How often a worker looks for held jobs whose lock it could not renew. */
  heldCheckMs: 500,
  // Shorter than what is left of a job's lock when its worker dies (half of it at least), so that a dead worker is known
  // to be gone before its jobs are delivered again.
  presenceMs: 4_000,
  beatMs: 1_000,
  /** How long a suspect's trial lasts at most. */
  trialMs: 3_000,
  /** Long enough for a live worker to show itself again after a Redis outage. */
  verifyMs: 5_000,
};
export type WorkerTimes = Readonly<typeof PRODUCTION>;

/** The times of every worker, divided alike so that they keep their proportions. */
export function workerTimes(haste: number): WorkerTimes {
  const shorter = Object.entries(PRODUCTION).map(([name, ms]) => [name, Math.round(ms / haste)]);
  return Object.fromEntries(shorter) as WorkerTimes;
}

/**
 * The reliability settings of every worker; callers cannot change them. BullMQ's own stall limit stands beyond ours
 * (see suspects.ts), which tells crashed from excused.
 */
export function standardOf({ lockMs, stalledCheckMs }: WorkerTimes) {
  return {
    lockDuration: lockMs,
    stalledInterval: stalledCheckMs,
    maxStalledCount: 100,
    drainDelay: 5,
    runRetryDelay: 1_000,
    autorun: false,
  } as const;
}
