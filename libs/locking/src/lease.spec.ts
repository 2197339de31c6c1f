import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Metrics, silentLogger } from '#service';
import { FakeClock } from '#testing';
import { HeldLease, type LeaseContext } from './lease.js';
import { lockMetrics } from './lock-metrics.js';
import { metricValue } from '../testing/lock-service.js';
import type { Result, Verdict } from './lock-nodes.js';
import { StaleFenceError } from './locking.errors.js';

const LEASE_MS = 30_000;
const DEADLINE = 28_198;

/** Lock nodes that answer as told, or not at all until told. */
class ScriptedNodes {
  readonly quorum = 1;
  readonly trouble = undefined;
  verdict: Verdict | 'hang' = 'yes';
  renewals = 0;
  releases = 0;
  private pending: ((result: Result) => void)[] = [];

  lock = (): Promise<Result> => this.answer();

  renew(): Promise<Result> {
    this.renewals++;
    return this.answer();
  }

  check(): Promise<Result> {
    return this.answer();
  }

  release(): Promise<Result> {
    this.releases++;
    return Promise.resolve({ verdict: 'yes', answered: 1 });
  }

  async resume(verdict: Verdict): Promise<void> {
    for (const resolve of this.pending.splice(0)) resolve({ verdict, answered: 1 });
    await settled();
  }

  private answer(): Promise<Result> {
    const { verdict } = this;
    if (verdict === 'hang') return new Promise((resolve) => this.pending.push(resolve));
    return Promise.resolve({ verdict, answered: verdict === 'inconclusive' ? 0 : 1 });
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('lease', () => {
  let clock: FakeClock;
  let nodes: ScriptedNodes;
  let metrics: Metrics;
  let leases: Set<HeldLease>;
  let lease: HeldLease;

  beforeEach(() => {
    clock = new FakeClock();
    nodes = new ScriptedNodes();
    metrics = new Metrics();
    leases = new Set();
    const context: LeaseContext = {
      nodes,
      clock,
      logger: silentLogger,
      metrics: lockMetrics(metrics, () => leases.size),
      leases,
      renewalIntervalMs: 10_000,
      random: () => 0,
    };
    const terms = {
      key: 'root',
      redisKey: 'lock:root',
      ownerId: 'w/1',
      fence: 7,
      leaseMs: LEASE_MS,
      sentAt: 0,
    };
    lease = new HeldLease(terms, context);
  });

  afterEach(() => lease.release());

  const beatAt = async (monotonic: number): Promise<void> => {
    clock.advance(monotonic - clock.monotonic());
    lease.tick();
    await settled();
  };

  it('moves its deadline with every renewal, counted from before the renewal was sent', async () => {
    await beatAt(10_000);
    expect([nodes.renewals, lease.deadline]).toEqual([1, 10_000 + DEADLINE]);
    await beatAt(20_000);
    expect([nodes.renewals, lease.deadline]).toEqual([2, 20_000 + DEADLINE]);
    await lease.release();
  });

  it('does not renew before the interval', async () => {
    await beatAt(9_999);
    expect(nodes.renewals).toBe(0);
    await lease.release();
  });

  it('is lost at once when a renewal is refused', async () => {
    const { signal } = lease;
    nodes.verdict = 'no';
    await beatAt(10_000);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'refused', key: 'root', fence: 7 });
  });

  it('is lost at its deadline while a renewal hangs, and a late yes does not bring it back', async () => {
    const { signal } = lease;
    nodes.verdict = 'hang';
    await beatAt(10_000);
    await beatAt(DEADLINE - 1);
    expect(signal.aborted).toBe(false);
    await beatAt(DEADLINE);
    expect(signal.reason).toMatchObject({ reason: 'expired' });
    await nodes.resume('yes');
    expect([lease.held, leases.size]).toEqual([false, 0]);
    expect(await metricValue(metrics, 'millrace_leases_renewed_total')).toBe(0);
  });

  it('keeps trying while nobody answers, several times before the deadline', async () => {
    nodes.verdict = 'inconclusive';
    for (let at = 10_000; at < DEADLINE; at += 100) await beatAt(at);
    expect(nodes.renewals).toBeGreaterThan(4);
    nodes.verdict = 'yes';
    await beatAt(DEADLINE - 1);
    expect(lease.held).toBe(true);
    await lease.release();
  });

  it('does not renew after a pause that was longer than the lease', async () => {
    await beatAt(LEASE_MS * 2);
    expect([nodes.renewals, lease.held]).toEqual([0, false]);
  });

  it('knows by the clock that it is over before any timer has run', () => {
    clock.advance(DEADLINE);
    expect(lease.held).toBe(false);
    expect(lease.signal.reason).toMatchObject({ reason: 'expired' });
  });

  it.each([3_600_000, -3_600_000])('is not moved by a wall clock that jumps %i ms', (jump) => {
    const before = lease.expiresAt - clock.now();
    clock.jump(jump);
    expect([lease.held, lease.expiresAt - clock.now()]).toEqual([true, before]);
    clock.advance(DEADLINE);
    expect(lease.held).toBe(false);
  });

  it('refuses to verify after a reply that came too late', async () => {
    nodes.verdict = 'hang';
    const verdict = lease.verify();
    clock.advance(DEADLINE);
    const rejected = expect(verdict).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    await nodes.resume('yes');
    await rejected;
  });

  it('tells an unreachable Redis from a lost lease', async () => {
    nodes.verdict = 'inconclusive';
    await expect(lease.verify()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', answered: 0, needed: 1 });
    expect(lease.held).toBe(true);
    await lease.release();
  });

  it('becomes lost when a write meets a newer fence, and counts it', async () => {
    const write = lease.guard(() => Promise.reject(new StaleFenceError('root', 7, 8)));
    await expect(write).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'fenced' });
    expect(lease.signal.aborted).toBe(true);
    expect(await metricValue(metrics, 'millrace_fenced_writes_refused_total')).toBe(1);
  });

  it("lets other errors of a write through, another lease's stale fence among them", async () => {
    const other = new StaleFenceError('another', 7, 8);
    await expect(lease.guard(() => Promise.reject(other))).rejects.toBe(other);
    expect(lease.held).toBe(true);
    await lease.release();
  });

  it('starts no write once it is over', async () => {
    let written = false;
    await lease.release();
    await expect(lease.guard(async () => (written = true))).rejects.toMatchObject({ reason: 'released' });
    expect(written).toBe(false);
  });

  it('releases once, however often it is asked, and is no longer held', async () => {
    expect([...leases]).toEqual([lease]);
    await Promise.all([lease.release(), lease.release()]);
    await lease.release();
    expect([nodes.releases, leases.size, lease.signal.aborted]).toEqual([1, 0, false]);
    expect(await metricValue(metrics, 'millrace_leases_lost_total')).toBe(0);
  });

  it('is not renewed once it is over', async () => {
    await lease.release();
    await beatAt(10_000);
    expect(nodes.renewals).toBe(0);
  });

  it('tells a signal that is asked for after the loss', async () => {
    nodes.verdict = 'no';
    await beatAt(10_000);
    expect(lease.signal.aborted).toBe(true);
  });
});
