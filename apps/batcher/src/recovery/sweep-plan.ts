/** What is known when the reconciler looks. */
interface QueueFacts {
  /** This is the first look, or Redis was restarted or replaced since the last. */
  redisChanged: boolean;
  /** Jobs that are waiting, delayed or with a worker. */
  live: number;
  /** Jobs that files wait for. */
  pending: number;
  /** Those of them that were enqueued before the live ones were counted, and so must be among them. */
  enqueued: number;
  /** Files whose claim has expired: whoever was looking for their jobs is gone. */
  expired: number;
  /** A scan is in progress: files that were never enqueued are about to be. */
  scanning: boolean;
  /** Files without a job were seen some time ago and are still there: whoever registered them is gone. */
  orphaned: boolean;
}

interface SweepSettings {
  recoveryAgeMs: number;
  maxClaims: number;
}

export interface Sweep {
  /** Only files whose job was enqueued at least so long ago. */
  ageMs: number;
  /** Whether files that were never enqueued are looked at, too. */
  unsent: boolean;
  /** Files to look at in this round. */
  limit: number;
}

/** A job that was enqueued so recently may not be visible yet in what we count, or its file not yet committed. */
export const SETTLE_MS = 3_000;

/**
 * Which files to look for jobs of, if any. Signs that jobs are lost (Redis is another one, or has fewer jobs than it must
 * have) make it look at all of them at once; the files that were never enqueued come first and need no more than that.
 * Without a sign, a bounded number of old ones is looked at each round, so that a long queue costs little.
 */
export function planSweep(facts: QueueFacts, { recoveryAgeMs, maxClaims }: SweepSettings): Sweep | undefined {
  const { redisChanged, live, pending, enqueued, expired, scanning, orphaned } = facts;
  const settledMs = Math.min(SETTLE_MS, recoveryAgeMs);
  if (pending === 0) return undefined;
  if (redisChanged && live < (scanning ? enqueued : pending))
    return { ageMs: 0, unsent: orphaned || !scanning, limit: Infinity };
  if (live < enqueued) return { ageMs: settledMs, unsent: orphaned, limit: Infinity };
  if (orphaned || expired > 0) return { ageMs: settledMs, unsent: orphaned, limit: maxClaims };
  return { ageMs: recoveryAgeMs, unsent: false, limit: maxClaims };
}
