import { StaleFenceError } from '#database';
import type { Clock, Logger } from '#service';
import { deadlineOf } from './lease-time.js';
import type { LockMetrics } from './lock-metrics.js';
import type { LockNodes } from './lock-nodes.js';
import { LeaseLostError, LockUnavailableError, type LossReason } from './locking.errors.js';

/**
 * The right to work on `key`, for a time that the lock service keeps extending. Lost is final: a lease never comes back,
 * and one acquired later by the same worker is another lease with another owner id and a greater fence.
 */
export interface Lease {
  readonly key: string;
  /** What stands in Redis under the key: the worker and this very acquisition. */
  readonly ownerId: string;
  /** Greater than that of every lease on this key before. Goes into each write that the lease protects. */
  readonly fence: number;
  /** UTC milliseconds until which the lease may be relied on without a further renewal. */
  readonly expiresAt: number;
  /** Aborts when the lease is lost, before Redis can have given it to another. Its reason is a LeaseLostError. */
  readonly signal: AbortSignal;
  /** Whether the lease may be relied on now, by the clock and what is known here; asks nobody. */
  readonly held: boolean;
  /**
   * Check-on-write: asks Redis whether this lease still holds the lock. Rejects with LeaseLostError when it does not,
   * and with LockUnavailableError when Redis does not say; either way the write must not happen.
   */
  verify(): Promise<void>;
  /**
   * Runs a write that asserts the fence. A stale fence loses the lease and rejects with LeaseLostError; nothing was written.
   */
  guard<T>(write: () => Promise<T>): Promise<T>;
  /** Gives the lock up, if it is still this lease's. Idempotent; never rejects: an unreachable Redis lets it expire. */
  release(): Promise<void>;
}

export interface LeaseTerms {
  key: string;
  redisKey: string;
  ownerId: string;
  fence: number;
  leaseMs: number;
  /** Monotonic time before the command that took the lock was sent. */
  sentAt: number;
}

export interface LeaseContext {
  nodes: Pick<LockNodes, 'renew' | 'check' | 'release' | 'quorum' | 'trouble'>;
  clock: Clock;
  logger: Logger;
  metrics: LockMetrics;
  /** Told once, when the lease is over. */
  ended: (lease: HeldLease) => void;
}

type State = { state: 'held' } | { state: 'lost'; error: LeaseLostError } | { state: 'released' };

const HELD: State = { state: 'held' };
const RELEASED: State = { state: 'released' };

export class HeldLease implements Lease {
  readonly key: string;
  readonly ownerId: string;
  readonly fence: number;
  readonly leaseMs: number;
  private current: State = HELD;
  private controller: AbortController | undefined;
  private releasing: Promise<void> | undefined;
  private until: number;

  constructor(
    private readonly terms: LeaseTerms,
    private readonly context: LeaseContext,
  ) {
    ({ key: this.key, ownerId: this.ownerId, fence: this.fence, leaseMs: this.leaseMs } = terms);
    this.until = deadlineOf(terms.sentAt, terms.leaseMs);
  }

  /** Monotonic time until which the lease may be relied on. */
  get deadline(): number {
    return this.until;
  }

  get expiresAt(): number {
    const { clock } = this.context;
    return Math.floor(clock.now() + this.until - clock.monotonic());
  }

  get signal(): AbortSignal {
    // Made on demand: most short leases are released before anybody asks.
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.current.state === 'lost') this.controller.abort(this.current.error);
    }
    return this.controller.signal;
  }

  get held(): boolean {
    this.loseIfDue();
    return this.current.state === 'held';
  }

  async verify(): Promise<void> {
    this.assertHeld();
    const { nodes } = this.context;
    const { verdict, answered } = await nodes.check(this.terms.redisKey, this.ownerId);
    // The answer may have come late, after a pause of this process for one.
    this.assertHeld();
    if (verdict === 'no') throw this.lose('refused');
    if (verdict === 'inconclusive')
      throw new LockUnavailableError(this.key, answered, nodes.quorum, nodes.trouble);
  }

  async guard<T>(write: () => Promise<T>): Promise<T> {
    this.assertHeld();
    try {
      return await write();
    } catch (error) {
      if (!this.isStale(error)) throw error;
      this.context.metrics.fenced.inc();
      throw this.lose('fenced', error);
    }
  }

  release(): Promise<void> {
    this.releasing ??= this.giveUp();
    return this.releasing;
  }

  /** One renewal. True when it succeeded, false when nobody knows; a refusal loses the lease. */
  async renew(): Promise<boolean> {
    const { nodes, clock, metrics, logger } = this.context;
    const { redisKey, ownerId, leaseMs } = this.terms;
    const sentAt = clock.monotonic();
    const { verdict } = await nodes.renew(redisKey, ownerId, leaseMs, () => this.held);
    if (!this.held) return false;
    if (verdict === 'no') this.lose('refused');
    if (verdict !== 'yes') return false;
    this.until = deadlineOf(sentAt, leaseMs);
    metrics.renewed.inc();
    logger.debug({ key: this.key, fence: this.fence }, 'lease renewed');
    return true;
  }

  /** Ends the lease now. Returns the error to throw, the first one if it was lost before. */
  lose(reason: LossReason, cause?: unknown): LeaseLostError {
    if (this.current.state === 'lost') return this.current.error;
    const error = new LeaseLostError(this.key, this.ownerId, this.fence, reason, cause);
    if (this.current.state === 'released') return error;
    this.current = { state: 'lost', error };
    this.context.metrics.lost.inc({ reason });
    this.context.metrics.holdSeconds.observe(this.heldSeconds());
    this.context.ended(this);
    const level = reason === 'stopped' ? 'warn' : 'error';
    this.context.logger[level](
      { key: this.key, fence: this.fence, reason },
      'lease lost; its work must stop',
    );
    this.controller?.abort(error);
    return error;
  }

  loseIfDue(): void {
    if (this.current.state === 'held' && this.context.clock.monotonic() >= this.until) this.lose('expired');
  }

  private assertHeld(): void {
    if (!this.held) throw this.lose('released');
  }

  private isStale(error: unknown): boolean {
    return error instanceof StaleFenceError && error.key === this.key && error.fence === this.fence;
  }

  private async giveUp(): Promise<void> {
    const { nodes, logger, metrics, ended } = this.context;
    if (this.current.state === 'held') {
      this.current = RELEASED;
      metrics.holdSeconds.observe(this.heldSeconds());
      ended(this);
    }
    // A lost lease may still stand in Redis (a renewal that arrived late): clearing it lets the next holder in sooner.
    const { verdict } = await nodes.release(this.terms.redisKey, this.ownerId);
    logger.debug({ key: this.key, owner_id: this.ownerId, verdict }, 'lease release attempted');
    if (verdict === 'inconclusive')
      logger.warn(
        { key: this.key, err: nodes.trouble },
        'lock nodes did not confirm a release; it will expire',
      );
  }

  private heldSeconds(): number {
    return (this.context.clock.monotonic() - this.terms.sentAt) / 1_000;
  }
}
