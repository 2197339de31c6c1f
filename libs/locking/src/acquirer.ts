import { randomUUID } from 'node:crypto';
import { backoffMs, sleep } from '#service';
import type { FenceIssuer } from './database-fences.js';
import { HeldLease, type LeaseContext, type LeaseTerms } from './lease.js';
import { deadlineOf } from './lease-time.js';
import type { Result } from './lock-nodes.js';
import { LockUnavailableError } from './locking.errors.js';

const RETRY = { baseMs: 50, maxMs: 1_000 };

/** Takes locks: a majority of the nodes, then a fence, all before the lease can have run out. What fails is given back. */
export class Acquirer {
  constructor(
    private readonly context: LeaseContext,
    private readonly terms: { fences: FenceIssuer; keyPrefix: string; workerId: string },
    /** Aborts when the service stops. */
    private readonly stopping: AbortSignal,
  ) {}

  /** One try. Null when another holds the lock; rejects when nobody can say. */
  async acquire(key: string, leaseMs: number, signal?: AbortSignal): Promise<HeldLease | null> {
    signal?.throwIfAborted();
    const { nodes, clock } = this.context;
    const { keyPrefix, workerId, fences } = this.terms;
    const redisKey = keyPrefix + key;
    // Unique for each acquisition: a lease that was lost and won back by the same worker is not mistaken for the old one.
    const ownerId = `${workerId}/${randomUUID()}`;
    const sentAt = clock.monotonic();
    const result = await nodes.lock(redisKey, ownerId, leaseMs);
    if (result.verdict !== 'yes') return refusal(key, result, nodes);
    try {
      const fence = await fences.issue(key);
      return this.holdInTime({ key, redisKey, ownerId, fence, leaseMs, sentAt }, signal);
    } catch (error) {
      await nodes.release(redisKey, ownerId);
      throw error;
    }
  }

  /** Tries again, with growing jittered pauses, for `waitMs` at most. */
  async acquireWithin(
    waitMs: number,
    key: string,
    leaseMs: number,
    signal?: AbortSignal,
  ): Promise<HeldLease | null> {
    const { stopping } = this;
    const { clock } = this.context;
    const ending = signal ? AbortSignal.any([signal, stopping]) : stopping;
    const giveUpAt = clock.monotonic() + waitMs;
    for (let tries = 0; ; tries++) {
      const outcome = await this.acquire(key, leaseMs, ending).catch(ifUnavailable);
      if (outcome instanceof HeldLease) return outcome;
      const remaining = giveUpAt - clock.monotonic();
      if (remaining <= 0 && outcome) throw outcome;
      if (remaining <= 0) return null;
      await sleep(Math.min(backoffMs(tries, RETRY), remaining), ending);
    }
  }

  /** A fence that was issued after the lease ran out, or the caller has left, belongs to nobody. */
  private holdInTime(terms: LeaseTerms, signal?: AbortSignal): HeldLease {
    const { nodes, clock } = this.context;
    signal?.throwIfAborted();
    this.stopping.throwIfAborted();
    if (clock.monotonic() < deadlineOf(terms.sentAt, terms.leaseMs))
      return new HeldLease(terms, this.context);
    const cause = new Error('the lease ran out before its fence was issued');
    throw new LockUnavailableError(terms.key, nodes.quorum, nodes.quorum, cause);
  }
}

/** Held by another when enough nodes answered to know that somebody competes; otherwise nobody knows. */
function refusal(
  key: string,
  { verdict, answered }: Result,
  { quorum, trouble }: LeaseContext['nodes'],
): null {
  if (verdict === 'no' || answered >= quorum) return null;
  throw new LockUnavailableError(key, answered, quorum, trouble);
}

function ifUnavailable(error: unknown): LockUnavailableError {
  if (error instanceof LockUnavailableError) return error;
  throw error;
}
