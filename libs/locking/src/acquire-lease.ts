import { randomUUID } from 'node:crypto';
import type { FenceIssuer } from './database-fences.js';
import { HeldLease, type LeaseContext, type LeaseFacts } from './lease.js';
import { deadlineOf } from './lease-time.js';
import { LockUnavailableError } from './locking.errors.js';

/** What a service asks for with every lease. */
export interface LeaseTerms {
  fences: FenceIssuer;
  keyPrefix: string;
  workerId: string;
  leaseMs: number;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
}

/**
 * Takes a lock: a majority of the nodes, then a fence, all before the lease can have run out. What fails is given back. Null
 * when another holds the lock; rejects when nobody can say.
 */
export async function acquireLease(
  key: string,
  { fences, keyPrefix, workerId, leaseMs, stopping }: LeaseTerms,
  context: LeaseContext,
  signal?: AbortSignal,
): Promise<HeldLease | null> {
  signal?.throwIfAborted();
  const { nodes, clock } = context;
  const redisKey = keyPrefix + key;
  // Unique for each acquisition: a lease that was lost and won back by the same worker is not mistaken for the old one.
  const ownerId = `${workerId}/${randomUUID()}`;
  const sentAt = clock.monotonic();
  const { verdict, answered } = await nodes.lock(redisKey, ownerId, leaseMs);
  // Held by another when enough nodes answered to know that somebody competes; otherwise nobody knows.
  if (verdict === 'no' || (verdict === 'inconclusive' && answered >= nodes.quorum)) return null;
  if (verdict !== 'yes') throw new LockUnavailableError(key, answered, nodes.quorum, nodes.trouble);
  try {
    const fence = await fences.issue(key);
    for (const end of [signal, stopping]) end?.throwIfAborted();
    return holdInTime({ key, redisKey, ownerId, fence, leaseMs, sentAt }, context);
  } catch (error) {
    await nodes.release(redisKey, ownerId);
    throw error;
  }
}

/** A fence that was issued after the lease ran out belongs to nobody. */
function holdInTime(facts: LeaseFacts, context: LeaseContext): HeldLease {
  const { clock, nodes } = context;
  if (clock.monotonic() < deadlineOf(facts.sentAt, facts.leaseMs)) return new HeldLease(facts, context);
  const cause = new Error('the lease ran out before its fence was issued');
  throw new LockUnavailableError(facts.key, nodes.quorum, nodes.quorum, cause);
}
