import { randomUUID } from 'node:crypto';
import { backoffMs, sleep, type Clock } from '#service';
import type { FenceIssuer } from './database-fences.js';
import { HeldLease, type LeaseTerms } from './lease.js';
import { deadlineOf } from './lease-time.js';
import type { LockNodes, Result } from './lock-nodes.js';
import { LockUnavailableError } from './locking.errors.js';

export interface AcquirerOptions {
  nodes: Pick<LockNodes, 'lock' | 'release' | 'quorum' | 'trouble'>;
  fences: FenceIssuer;
  keyPrefix: string;
  workerId: string;
  clock: Clock;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
  hold: (terms: LeaseTerms) => HeldLease;
}

const RETRY = { baseMs: 50, maxMs: 1_000 };

/** Takes locks: a majority of the nodes, then a fence, all before the lease can have run out. What fails is given back. */
export class Acquirer {
  constructor(private readonly options: AcquirerOptions) {}

  /** One try. Null when another holds the lock; rejects when nobody can say. */
  async acquire(key: string, leaseMs: number, signal?: AbortSignal): Promise<HeldLease | null> {
    signal?.throwIfAborted();
    const { nodes, keyPrefix, workerId, clock, fences } = this.options;
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
    const { clock, stopping } = this.options;
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
    const { nodes, clock, stopping, hold } = this.options;
    signal?.throwIfAborted();
    stopping.throwIfAborted();
    if (clock.monotonic() < deadlineOf(terms.sentAt, terms.leaseMs)) return hold(terms);
    const cause = new Error('the lease ran out before its fence was issued');
    throw new LockUnavailableError(terms.key, nodes.quorum, nodes.quorum, cause);
  }
}

/** Held by another when enough nodes answered to know that somebody competes; otherwise nobody knows. */
function refusal(
  key: string,
  { verdict, answered }: Result,
  { quorum, trouble }: AcquirerOptions['nodes'],
): null {
  if (verdict === 'no' || answered >= quorum) return null;
  throw new LockUnavailableError(key, answered, quorum, trouble);
}

function ifUnavailable(error: unknown): LockUnavailableError {
  if (error instanceof LockUnavailableError) return error;
  throw error;
}
