import { randomUUID } from 'node:crypto';
import type { DatabaseFences } from './database-fences.js';
import { HeldLease, type LeaseContext } from './lease.js';
import { deadlineOf } from './lease-time.js';
import { LockUnavailableError } from './locking.errors.js';

/** What a running service asks for with every lease, besides what its leases share. */
export interface RunningContext extends LeaseContext {
  fences: Pick<DatabaseFences, 'issue'>;
  keyPrefix: string;
  workerId: string;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
}

/**
 * Takes a lock: a majority of the nodes, then a fence, all before the lease can have run out. What fails is given back. Null
 * when another holds the lock; rejects when nobody can say.
 */
export async function acquireLease(
  key: string,
  leaseMs: number,
  context: RunningContext,
  signal?: AbortSignal,
): Promise<HeldLease | null> {
  signal?.throwIfAborted();
  const { nodes, clock, fences, stopping } = context;
  const redisKey = context.keyPrefix + key;
  // Unique for each acquisition: a lease that was lost and won back by the same worker is not mistaken for the old one.
  const ownerId = `${context.workerId}/${randomUUID()}`;
  const sentAt = clock.monotonic();
  const { verdict, answered } = await nodes.lock(redisKey, ownerId, leaseMs);
  // Held by another when enough nodes answered to know that somebody competes; otherwise nobody knows.
  if (verdict === 'no' || (verdict === 'inconclusive' && answered >= nodes.quorum)) return null;
  if (verdict !== 'yes') throw new LockUnavailableError(key, answered, nodes.quorum, nodes.trouble);
  try {
    const fence = await fences.issue(key);
    for (const end of [signal, stopping]) end?.throwIfAborted();
    if (clock.monotonic() < deadlineOf(sentAt, leaseMs))
      return new HeldLease({ key, redisKey, ownerId, fence, leaseMs, sentAt }, context);
    // A fence that was issued after the lease ran out belongs to nobody.
    const cause = new Error('the lease ran out before its fence was issued');
    throw new LockUnavailableError(key, nodes.quorum, nodes.quorum, cause);
  } catch (error) {
    await nodes.release(redisKey, ownerId);
    throw error;
  }
}
