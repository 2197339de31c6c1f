/** What is known when the reconciler looks. */
export interface QueueFacts {
  /** This is the first look, or Redis was restarted or replaced since the last. */
  redisChanged: boolean;
  /** Jobs that no worker has. */
  waiting: number;
  /** Jobs that are waiting, delayed or with a worker. */
  live: number;
  /** Files that wait for a job to be done. */
  pending: number;
}

export interface SweepSettings {
  recoveryAgeMs: number;
  maxClaims: number;
}

export interface Sweep {
  /** Only files whose job was enqueued at least so long ago, or never. */
  ageMs: number;
  /** Files to look at in this round. */
  limit: number;
}

// A job that was enqueued so recently may not be visible yet in what we count, or its file not yet committed.
const SETTLE_MS = 3_000;

/**
 * Which files to look for jobs of, if any. Signs that Redis lost jobs (it is another one, or it has fewer jobs than files
 * wait, or none waits at all) make it look at all of them at once. Without a sign, a bounded number of old ones is
 * looked at each round, so that a long queue costs little.
 */
export function planSweep(facts: QueueFacts, { recoveryAgeMs, maxClaims }: SweepSettings): Sweep | undefined {
  const { redisChanged, waiting, live, pending } = facts;
  if (pending === 0) return undefined;
  if (redisChanged && live < pending) return { ageMs: 0, limit: Infinity };
  if (waiting === 0 || live < pending) return { ageMs: Math.min(SETTLE_MS, recoveryAgeMs), limit: Infinity };
  return { ageMs: recoveryAgeMs, limit: maxClaims };
}
