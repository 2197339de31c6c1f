import type { Clock, Logger } from '#service';
import { deadlineOf, nextRenewal, renewalIntervalMs, retryRenewal } from './lease-time.js';
import type { LockMetrics } from './lock-metrics.js';
import type { LockNodes } from './lock-nodes.js';
import { LeaseLostError, LockUnavailableError, StaleFenceError, type LossReason } from './locking.errors.js';

/** What was acquired; `sentAt` is the monotonic time before the command that took the lock was sent. */
type LeaseFacts = Record<'key' | 'redisKey' | 'ownerId', string> &
  Record<'fence' | 'leaseMs' | 'sentAt', number>;

/** What all leases of a service share. */
export interface LeaseContext {
  nodes: Pick<LockNodes, 'lock' | 'renew' | 'check' | 'release' | 'quorum' | 'trouble'>;
  clock: Clock;
  logger: Logger;
  metrics: LockMetrics;
  /** Those that are held now. */
  leases: Set<HeldLease>;
  renewalIntervalMs: number;
  random?: () => number;
}

type State = { state: 'held' } | { state: 'lost'; error: LeaseLostError } | { state: 'released' };

/**
 * The right to work on `key`, for a time that it keeps extending: it renews itself well before its deadline and declares
 * itself lost at the deadline, whether or not Redis answers. Lost is final: a lease never comes back, and one acquired later
 * by the same worker is another lease with another owner id and a greater fence.
 */
export class HeldLease {
  readonly key: string;
  /** What stands in Redis under the key: the worker and this very acquisition. */
  readonly ownerId: string;
  /** Greater than that of every lease on this key before. Goes into each write that the lease protects. */
  readonly fence: number;
  private current: State = { state: 'held' };
  private readonly losing = new AbortController();
  /** Aborts when the lease is lost, before Redis can have given it to another. Its reason is a LeaseLostError. */
  readonly signal = this.losing.signal;
  private releasing: Promise<void> | undefined;
  private until: number;
  private readonly intervalMs: number;
  private readonly random: () => number;
  /** Monotonic time; undefined while a renewal is under way. */
  private renewAt: number | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly terms: LeaseFacts,
    private readonly context: LeaseContext,
  ) {
    ({ key: this.key, ownerId: this.ownerId, fence: this.fence } = terms);
    this.until = deadlineOf(terms.sentAt, terms.leaseMs);
    this.intervalMs = renewalIntervalMs(context.renewalIntervalMs, terms.leaseMs);
    this.random = context.random ?? Math.random;
    this.renewAt = nextRenewal(context.clock.monotonic(), this.intervalMs, this.random);
    context.leases.add(this);
    this.schedule();
    context.metrics.acquired.inc();
    context.logger.debug({ key: this.key, fence: this.fence, owner_id: this.ownerId }, 'lease acquired');
  }

  /** Monotonic time until which the lease may be relied on. */
  get deadline(): number {
    return this.until;
  }

  /** UTC milliseconds until which the lease may be relied on without a further renewal. */
  get expiresAt(): number {
    const { clock } = this.context;
    return Math.floor(clock.now() + this.until - clock.monotonic());
  }

  /** Whether the lease may be relied on now, by the clock and what is known here; asks nobody. */
  get held(): boolean {
    if (this.current.state === 'held' && this.context.clock.monotonic() >= this.until) this.lose('expired');
    return this.current.state === 'held';
  }

  /**
   * Check-on-write: asks Redis whether this lease still holds the lock. Rejects with LeaseLostError when it does not,
   * and with LockUnavailableError when Redis does not say; either way the write must not happen.
   */
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

  /** Runs a write that asserts the fence. A stale fence loses the lease and rejects with LeaseLostError; nothing was written. */
  async guard<T>(write: () => Promise<T>): Promise<T> {
    this.assertHeld();
    try {
      return await write();
    } catch (error) {
      const { key, fence } = this;
      if (!(error instanceof StaleFenceError && error.key === key && error.fence === fence)) throw error;
      this.context.metrics.fenced.inc();
      throw this.lose('fenced', error);
    }
  }

  /** Gives the lock up, if it is still this lease's. Idempotent; never rejects: an unreachable Redis lets it expire. */
  release(): Promise<void> {
    return (this.releasing ??= this.giveUp());
  }

  /** What is due is lost, what is soon due is renewed. */
  tick(): void {
    // First the deadline: after a pause of this process both are due, and then it is too late to renew.
    if (!this.held) return;
    if (this.renewAt !== undefined && this.renewAt <= this.context.clock.monotonic()) void this.keep();
    this.schedule();
  }

  private async keep(): Promise<void> {
    this.renewAt = undefined;
    const renewed = await this.renew();
    const now = this.context.clock.monotonic();
    this.renewAt = renewed
      ? nextRenewal(now, this.intervalMs, this.random)
      : retryRenewal(now, this.until, this.intervalMs, this.random);
    this.schedule();
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.current.state !== 'held') return;
    const at = Math.min(this.until, this.renewAt ?? Infinity);
    const delayMs = Math.max(0, Math.floor(at - this.context.clock.monotonic()));
    this.timer = setTimeout(() => this.tick(), delayMs).unref();
  }

  /** One renewal. True when it succeeded, false when nobody knows; a refusal loses the lease. */
  private async renew(): Promise<boolean> {
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
    this.end({ state: 'lost', error });
    this.context.metrics.lost.inc({ reason });
    const level = reason === 'stopped' ? 'warn' : 'error';
    this.context.logger[level](
      { key: this.key, fence: this.fence, reason },
      'lease lost; its work must stop',
    );
    this.losing.abort(error);
    return error;
  }

  private assertHeld(): void {
    if (!this.held) throw this.lose('released');
  }

  private async giveUp(): Promise<void> {
    const { nodes, logger } = this.context;
    if (this.current.state === 'held') this.end({ state: 'released' });
    // A lost lease may still stand in Redis (a renewal that arrived late): clearing it lets the next holder in sooner.
    const { verdict } = await nodes.release(this.terms.redisKey, this.ownerId);
    logger.debug({ key: this.key, owner_id: this.ownerId, verdict }, 'lease release attempted');
    if (verdict === 'inconclusive')
      logger.warn(
        { key: this.key, err: nodes.trouble },
        'lock nodes did not confirm a release; it will expire',
      );
  }

  private end(state: State): void {
    const { clock, metrics, leases } = this.context;
    this.current = state;
    clearTimeout(this.timer);
    leases.delete(this);
    metrics.holdSeconds.observe((clock.monotonic() - this.terms.sentAt) / 1_000);
  }
}

/** A lease as its holder sees it. */
export type Lease = Pick<
  HeldLease,
  'key' | 'ownerId' | 'fence' | 'expiresAt' | 'signal' | 'held' | 'verify' | 'guard' | 'release'
>;
