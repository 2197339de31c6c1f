import { randomUUID } from 'node:crypto';
import type { BreakerOptions } from '#redis';
import {
  down,
  systemClock,
  UP,
  type Clock,
  type Health,
  type Logger,
  type Metrics,
  type Service,
} from '#service';
import type { DatabaseFences } from './database-fences.js';
import { HeldLease, type Lease, type LeaseContext } from './lease.js';
import { deadlineOf } from './lease-time.js';
import { lockMetrics, type LockMetrics } from './lock-metrics.js';
import { LockNode } from './lock-node.js';
import { LockNodes } from './lock-nodes.js';
import { lockServiceStopped, LockUnavailableError } from './locking.errors.js';

export interface LockServiceOptions {
  /** One Redis, or an odd number of independent ones that decide by majority. */
  urls: readonly string[];
  /** First part of every lock key, asked for at start. */
  keyPrefix: string | (() => string);
  /** How long a lease lasts unless renewed. */
  leaseMs: number;
  renewalIntervalMs: number;
  /** Who acquires; part of the owner id. */
  workerId: string;
  fences: Pick<DatabaseFences, 'issue'>;
  logger: Logger;
  metrics: Metrics;
  clock?: Clock;
  /** How long one lock node may take to answer one command. */
  nodeTimeoutMs?: number;
  /** How long a lock node that does not answer is left alone. */
  breaker?: Partial<BreakerOptions>;
}

/** The service from `start` to `stop`: what its leases share, and what it takes to acquire one. */
interface Running extends LeaseContext, Pick<LockServiceOptions, 'fences' | 'workerId'> {
  keyPrefix: string;
  stopping: AbortController;
}

/**
 * Lease locks on Redis. At most one lease on a key is believed in at a time, as far as clocks and Redis can be trusted;
 * beyond that each lease carries a fence from the database, and a write conditional on it is refused once a later lease
 * exists. Every held lease is renewed until released, lost, or the service stops.
 */
export class LockService implements Service {
  readonly name = 'locks';
  private readonly clock: Clock;
  private readonly metrics: LockMetrics;
  private readonly leases = new Set<HeldLease>();
  private inFlight = 0;
  private onIdle: (() => void) | undefined;
  private running: (Running & { nodes: LockNodes }) | undefined;
  private starting: Promise<void> | undefined;
  private ending: Promise<void> | undefined;

  constructor(private readonly options: LockServiceOptions) {
    this.clock = options.clock ?? systemClock;
    this.metrics = lockMetrics(options.metrics, () => this.leases.size);
  }

  get isRunning(): boolean {
    return this.running !== undefined || this.ending !== undefined;
  }

  /** Resolves when a majority of the lock nodes is connected; the others are connected when they come. */
  start(signal?: AbortSignal): Promise<void> {
    return (this.starting ??= this.open(signal).finally(() => (this.starting = undefined)));
  }

  /** Aborts and releases what is still held, then disconnects. */
  stop(): Promise<void> {
    return (this.ending ??= this.close().finally(() => (this.ending = undefined)));
  }

  async health(): Promise<Health> {
    if (!this.running) return down('the lock service is not running');
    const { nodes } = this.running;
    const { verdict, answered } = await nodes.ping();
    return verdict === 'yes' ? UP : down(`${answered} of the ${nodes.quorum} lock nodes needed answer`);
  }

  /**
   * A lease on `key`, or null when another holds it. Rejects with LockUnavailableError when nobody can say, and with the
   * reason of `signal` when that aborts. It lasts `leaseMs` unless renewed, at most as long as configured: for so long a
   * lock node that restarted empty stays out.
   */
  async acquire(
    key: string,
    { leaseMs = this.options.leaseMs, signal }: { leaseMs?: number; signal?: AbortSignal } = {},
  ): Promise<Lease | null> {
    this.inFlight++;
    try {
      if (!this.running) throw lockServiceStopped();
      if (leaseMs > this.options.leaseMs)
        throw new RangeError(
          `a lease of ${leaseMs} ms is longer than LOCK_LEASE_MILLISECONDS (${this.options.leaseMs})`,
        );
      const lease = await acquireLease(key, leaseMs, this.running, signal);
      if (!lease) this.metrics.refused.inc({ reason: 'held' });
      return lease;
    } catch (error) {
      this.metrics.refused.inc({ reason: signal?.aborted ? 'aborted' : 'unavailable' });
      throw error;
    } finally {
      if (--this.inFlight === 0) this.onIdle?.();
    }
  }

  private async open(signal?: AbortSignal): Promise<void> {
    if (this.running) return;
    const running = this.prepare();
    this.running = running;
    const { nodes, stopping } = running;
    const connected = await nodes.connect();
    if (connected >= nodes.quorum && !signal?.aborted && !stopping.signal.aborted) return;
    nodes.disconnect();
    if (this.running === running) this.running = undefined;
    throw new LockUnavailableError(undefined, connected, nodes.quorum, nodes.trouble);
  }

  private async close(): Promise<void> {
    const { running, starting } = this;
    this.running = undefined;
    running?.stopping.abort(lockServiceStopped());
    if (this.inFlight > 0) await new Promise<void>((resolve) => (this.onIdle = resolve));
    const held = [...this.leases];
    for (const lease of held) lease.lose('stopped');
    await Promise.all(held.map((lease) => lease.release()));
    if (running) this.options.logger.debug('lock heartbeat stopped');
    running?.nodes.disconnect();
    await starting?.catch(() => {});
  }

  private prepare(): Running & { nodes: LockNodes } {
    const { urls, keyPrefix, ...shared } = this.options;
    const { clock, metrics, leases } = this;
    return {
      ...{ ...shared, clock, metrics, leases },
      nodes: new LockNodes(urls.map((url) => this.createNode(url))),
      keyPrefix: typeof keyPrefix === 'string' ? keyPrefix : keyPrefix(),
      stopping: new AbortController(),
    };
  }

  private createNode(url: string): LockNode {
    const { urls, leaseMs, renewalIntervalMs, breaker, logger } = this.options;
    const timeoutMs = this.options.nodeTimeoutMs ?? Math.min(1_500, Math.max(100, renewalIntervalMs / 4));
    const restartDelayMs = urls.length > 1 ? leaseMs : 0;
    return new LockNode({ url, timeoutMs, restartDelayMs, breaker, clock: this.clock, logger });
  }
}

/**
 * Takes a lock: a majority of the nodes, then a fence, all before the lease can have run out. What fails is given back. Null
 * when another holds the lock; rejects when nobody can say.
 */
export async function acquireLease(
  key: string,
  leaseMs: number,
  running: Running,
  signal?: AbortSignal,
): Promise<HeldLease | null> {
  signal?.throwIfAborted();
  const { nodes, clock, fences, stopping } = running;
  const redisKey = running.keyPrefix + key;
  // Unique for each acquisition: a lease that was lost and won back by the same worker is not mistaken for the old one.
  const ownerId = `${running.workerId}/${randomUUID()}`;
  const sentAt = clock.monotonic();
  const { verdict, answered } = await nodes.lock(redisKey, ownerId, leaseMs);
  // Held by another when enough nodes answered to know that somebody competes; otherwise nobody knows.
  if (verdict === 'no' || (verdict === 'inconclusive' && answered >= nodes.quorum)) return null;
  if (verdict !== 'yes') throw new LockUnavailableError(key, answered, nodes.quorum, nodes.trouble);
  try {
    const fence = await fences.issue(key);
    for (const end of [signal, stopping.signal]) end?.throwIfAborted();
    if (clock.monotonic() < deadlineOf(sentAt, leaseMs))
      return new HeldLease({ key, redisKey, ownerId, fence, leaseMs, sentAt }, running);
    // A fence that was issued after the lease ran out belongs to nobody.
    const cause = new Error('the lease ran out before its fence was issued');
    throw new LockUnavailableError(key, nodes.quorum, nodes.quorum, cause);
  } catch (error) {
    await nodes.release(redisKey, ownerId);
    throw error;
  }
}
