/** What `haste` shortens: all times by which the death of a worker is told from its silence. */
export interface WorkerTimes {
  /** How long a job is a worker's without renewal. */
  lockMs: number;
  stalledCheckMs: number;
  /** How often a worker looks for held jobs whose lock it could not renew. */
  heldCheckMs: number;
  // Shorter than what is left of a job's lock when its worker dies (half of it at least), so that a dead worker is known
  // to be gone before its jobs are delivered again.
  presenceMs: number;
  beatMs: number;
  /** How long a suspect's trial lasts at most. */
  trialMs: number;
  /** Long enough for a live worker to show itself again after a Redis outage. */
  verifyMs: number;
}

/** A killed worker's jobs run again within 15 s (lock + two checks); a test pins these. */
const PRODUCTION: WorkerTimes = {
  lockMs: 10_000,
  stalledCheckMs: 5_000,
  heldCheckMs: 500,
  presenceMs: 4_000,
  beatMs: 1_000,
  trialMs: 3_000,
  verifyMs: 5_000,
};

/** The times of every worker, divided alike so that they keep their proportions. */
export function workerTimes(haste: number): WorkerTimes {
  const shorter = Object.entries(PRODUCTION).map(([name, ms]: [string, number]) => [
    name,
    Math.round(ms / haste),
  ]);
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
