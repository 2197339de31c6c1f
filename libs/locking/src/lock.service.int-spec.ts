import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { setTimeout as realSleep } from 'node:timers/promises';
import { createLogger } from '#service';
import { eventually, freePort, guardLeaks, serviceContract, sharedRedis } from '#testing';
import type { Lease, LockService, LockServiceOptions } from './index.js';
import { lockService, metricValue } from '../testing/lock-service.js';

serviceContract(
  'the lock service',
  () => lockService({ urls: [sharedRedis().url] }).locks,
  (locks) => (locks as LockService).isRunning,
);

describe('lock service on one Redis', () => {
  let redis: Redis;
  let keyPrefix: string;
  const started: LockService[] = [];

  afterEach(async () => {
    await Promise.all(started.splice(0).map((locks) => locks.stop()));
    redis.disconnect();
  });
  // Hooks run in the order they are written: the guard looks last.
  guardLeaks();

  beforeEach(() => {
    const { url, prefix } = sharedRedis();
    keyPrefix = `${prefix}:`;
    redis = new Redis(url);
  });

  async function start(given: Partial<LockServiceOptions> = {}) {
    const made = lockService({ urls: [sharedRedis().url], keyPrefix, ...given });
    await made.locks.start();
    started.push(made.locks);
    return made;
  }

  async function mustAcquire(locks: LockService, key = 'root'): Promise<Lease> {
    const lease = await locks.acquire(key);
    if (!lease) throw new Error(`${key} is held`);
    return lease;
  }

  const inRedis = (key = 'root'): Promise<string | null> => redis.get(keyPrefix + key);
  const ttl = (key = 'root'): Promise<number> => redis.pttl(keyPrefix + key);
  /** Lets the key run out sooner, as a clock jump of the server does. */
  const shorten = (ms: number): Promise<number> => redis.pexpire(`${keyPrefix}root`, ms);

  it('logs what becomes of a lease: renewed, release attempted, heartbeat stopped', async () => {
    const lines: Record<string, unknown>[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const logger = createLogger({ service: 'test', workerId: 'w', level: 'debug', stream });
    const { locks } = await start({ logger, leaseMs: 5_000, renewalIntervalMs: 50 });
    const lease = await mustAcquire(locks);
    const logged = (msg: string) => lines.filter((line) => line.msg === msg);
    await eventually(async () => expect(logged('lease renewed').length).toBeGreaterThan(0));
    await lease.release();
    await locks.stop();
    expect(logged('lease renewed')[0]).toMatchObject({ level: 'debug', key: 'root', fence: lease.fence });
    expect(logged('lease release attempted')).toMatchObject([
      { level: 'debug', key: 'root', owner_id: lease.ownerId, verdict: 'yes' },
    ]);
    expect(logged('lock heartbeat stopped')).toMatchObject([{ level: 'debug' }]);
  });

  describe('acquiring', () => {
    it('gives a lease when the lock is free', async () => {
      const { locks } = await start();
      expect(await mustAcquire(locks)).toMatchObject({ key: 'root', fence: 1, held: true });
    });

    it('sets the owner id, which names the worker, as the value of the lock', async () => {
      const { locks } = await start({ workerId: 'producer-7' });
      const lease = await mustAcquire(locks);
      expect(lease.ownerId).toMatch(/^producer-7\//);
      expect(await inRedis()).toBe(lease.ownerId);
    });

    it('sets the lease time in milliseconds', async () => {
      const { locks } = await start({ leaseMs: 20_000 });
      const before = performance.now();
      await mustAcquire(locks);
      const left = await ttl();
      expect(left).toBeLessThanOrEqual(20_000);
      expect(left).toBeGreaterThanOrEqual(20_000 - (performance.now() - before) - 2);
    });

    it('takes a shorter lease for one acquisition, and no longer one than a restarted node stays out', async () => {
      const { locks } = await start({ leaseMs: 20_000 });
      await expect(locks.acquire('root', { leaseMs: 20_001 })).rejects.toThrow(RangeError);
      expect(await locks.acquire('root', { leaseMs: 5_000 })).toMatchObject({ held: true });
      expect(await ttl()).toBeLessThanOrEqual(5_000);
    });

    it('uses the configured lease, and expires before Redis does', async () => {
      const { locks } = await start({ leaseMs: 15_000 });
      const asked = Date.now();
      const lease = await mustAcquire(locks);
      const left = await ttl();
      expect(left).toBeGreaterThan(10_000);
      expect(left).toBeLessThanOrEqual(15_000);
      expect(lease.expiresAt).toBeLessThan(Date.now() + left);
      expect(lease.expiresAt).toBeGreaterThan(asked);
    });

    it('gives null when another process holds the lock, and leaves it alone', async () => {
      const [{ locks: first }, { locks: second }] = [await start(), await start({ workerId: 'other' })];
      const lease = await mustAcquire(first);
      expect(await second.acquire('root')).toBeNull();
      expect(await inRedis()).toBe(lease.ownerId);
    });

    it('gives null for a lock that this very process holds', async () => {
      const { locks } = await start();
      await mustAcquire(locks);
      expect(await locks.acquire('root')).toBeNull();
    });

    it('gives one lease to a crowd', async () => {
      const services = await Promise.all([start(), start(), start()]);
      const leases = await Promise.all(
        services.flatMap(({ locks }) => Array.from({ length: 30 }, () => locks.acquire('root'))),
      );
      expect(leases.filter((lease) => lease !== null)).toHaveLength(1);
    });

    it('keeps keys apart', async () => {
      const { locks } = await start();
      const leases = await Promise.all(['a', 'b', 'c'].map((key) => mustAcquire(locks, key)));
      expect(new Set(leases.map(({ ownerId }) => ownerId)).size).toBe(3);
    });

    it('does not call an unreachable Redis a refusal', async () => {
      const { locks } = lockService({ urls: [`redis://127.0.0.1:${await freePort()}`] });
      await expect(locks.start()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', answered: 0, needed: 1 });
      await expect(locks.acquire('root')).rejects.toMatchObject({ code: 'LOCK_SERVICE_STOPPED' });
    });
  });

  describe('releasing', () => {
    it('deletes the lock of its owner', async () => {
      const { locks } = await start();
      await (await mustAcquire(locks)).release();
      expect(await inRedis()).toBeNull();
    });

    it('does not delete the lock of another owner', async () => {
      const { locks } = await start();
      const lease = await mustAcquire(locks);
      await redis.set(`${keyPrefix}root`, 'another');
      await lease.release();
      expect(await inRedis()).toBe('another');
    });

    it('does not mind that the lock is gone, nor a second release', async () => {
      const { locks } = await start();
      const lease = await mustAcquire(locks);
      await redis.del(`${keyPrefix}root`);
      await expect(Promise.all([lease.release(), lease.release()])).resolves.toEqual([undefined, undefined]);
      await lease.release();
    });

    it('lets the next one in, with a greater fence', async () => {
      const { locks } = await start();
      const first = await mustAcquire(locks);
      await first.release();
      expect((await mustAcquire(locks)).fence).toBeGreaterThan(first.fence);
    });
  });

  describe('renewing', () => {
    it('extends the lease of its owner by heartbeat, from the acquisition on', async () => {
      const { locks, metrics } = await start({ leaseMs: 20_000, renewalIntervalMs: 100 });
      const lease = await mustAcquire(locks);
      const before = lease.expiresAt;
      await eventually(async () =>
        expect(await metricValue(metrics, 'millrace_leases_renewed_total')).toBeGreaterThan(2),
      );
      // Shortened behind its back, the key only gets its full time again from a renewal.
      await shorten(10_000);
      await eventually(async () => expect(await ttl()).toBeGreaterThan(10_000));
      expect([await inRedis(), lease.held]).toEqual([lease.ownerId, true]);
      expect(lease.expiresAt).toBeGreaterThan(before);
    });

    it('does not extend the lock of another owner: the lease is lost and its signal aborts', async () => {
      const { locks } = await start({ leaseMs: 20_000, renewalIntervalMs: 100 });
      const { signal } = await mustAcquire(locks);
      await redis.set(`${keyPrefix}root`, 'another', 'PX', 60_000);
      await eventually(() => expect(signal.aborted).toBe(true));
      expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'refused' });
      expect(await inRedis()).toBe('another');
      expect(await ttl()).toBeGreaterThan(20_000);
    });

    it('does not bring back a lock that is gone', async () => {
      const { locks, metrics } = await start({ leaseMs: 20_000, renewalIntervalMs: 100 });
      const lease = await mustAcquire(locks);
      await redis.del(`${keyPrefix}root`);
      await eventually(() => expect(lease.signal.aborted).toBe(true));
      expect(await inRedis()).toBeNull();
      expect(await metricValue(metrics, 'millrace_leases_lost_total', { reason: 'refused' })).toBe(1);
    });

    it('stops with the release: the key is not touched any more', async () => {
      const { locks, metrics } = await start({ leaseMs: 20_000, renewalIntervalMs: 50 });
      const lease = await mustAcquire(locks);
      await lease.release();
      const renewed = await metricValue(metrics, 'millrace_leases_renewed_total');
      const next = await mustAcquire(locks, 'another');
      await eventually(async () =>
        expect(await metricValue(metrics, 'millrace_leases_renewed_total')).toBeGreaterThan(renewed + 2),
      );
      expect([await inRedis(), next.held]).toEqual([null, true]);
    });
  });

  describe('verifying', () => {
    it('accepts while the lock is its own', async () => {
      const { locks } = await start();
      await expect((await mustAcquire(locks)).verify()).resolves.toBeUndefined();
    });

    it.each([
      ['holds another owner', (key: string) => redis.set(key, 'another')],
      ['is empty', (key: string) => redis.del(key)],
    ])('loses the lease when Redis %s, for good', async (_what, meddle) => {
      const { locks } = await start();
      const lease = await mustAcquire(locks);
      await meddle(`${keyPrefix}root`);
      await expect(lease.verify()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'refused' });
      await redis.set(`${keyPrefix}root`, lease.ownerId);
      await expect(lease.verify()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'refused' });
      expect([lease.held, lease.signal.aborted]).toEqual([false, true]);
    });

    it('does not take a lease that its worker lost and won back for the old one', async () => {
      const { locks: first } = await start({ workerId: 'same-name' });
      const { locks: second } = await start({ workerId: 'other' });
      const old = await mustAcquire(first);
      await shorten(1);
      const between = await eventually(() => mustAcquire(second));
      await between.release();
      const again = await mustAcquire(first);
      await expect(again.verify()).resolves.toBeUndefined();
      await expect(old.verify()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      await old.release();
      expect(await inRedis()).toBe(again.ownerId);
    });
  });

  describe('who comes later', () => {
    it('gets the lock of a holder that died when its lease runs out', async () => {
      const { locks } = await start();
      await redis.set(`${keyPrefix}root`, 'the dead', 'PX', 300);
      expect((await eventually(() => mustAcquire(locks))).held).toBe(true);
    });

    it('does not ask Redis when aborted before', async () => {
      const { locks, metrics } = await start();
      const reason = new Error('no longer needed');
      await expect(locks.acquire('root', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      expect(await inRedis()).toBeNull();
      expect(await metricValue(metrics, 'millrace_leases_refused_total', { reason: 'aborted' })).toBe(1);
    });

    it('serves a crowd one after another', async () => {
      const services = await Promise.all([start(), start()]);
      let inside = 0;
      const most: number[] = [];
      const work = async (): Promise<void> => {
        most.push(++inside);
        await realSleep(1);
        inside--;
      };
      await Promise.all(
        services.flatMap(({ locks }) =>
          Array.from({ length: 5 }, async () => {
            const lease = await eventually(() => mustAcquire(locks), { timeoutMs: 25_000 });
            await work();
            await lease.release();
          }),
        ),
      );
      expect(most).toEqual(Array.from({ length: 10 }, () => 1));
    });
  });

  describe('stopping', () => {
    it('releases what is held, aborts its work, and may be called again', async () => {
      const { locks } = await start();
      const lease = await mustAcquire(locks);
      const { signal } = lease;
      await Promise.all([locks.stop(), locks.stop()]);
      await locks.stop();
      expect(await inRedis()).toBeNull();
      expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'stopped' });
      await lease.release();
    });

    it('takes no new acquisitions', async () => {
      const { locks } = await start();
      await locks.stop();
      await expect(locks.acquire('root')).rejects.toMatchObject({ code: 'LOCK_SERVICE_STOPPED' });
    });

    it('gives back a lock that was being acquired', async () => {
      const { locks } = await start();
      const acquiring = locks.acquire('root').catch((error: unknown) => error);
      await locks.stop();
      expect(await acquiring).toMatchObject({ code: 'LOCK_SERVICE_STOPPED' });
      expect(await inRedis()).toBeNull();
    });

    it('can be followed by another start', async () => {
      const { locks } = await start();
      await locks.stop();
      await locks.start();
      expect((await mustAcquire(locks)).held).toBe(true);
    });
  });

  it('counts what is held, acquired, refused and renewed, and for how long', async () => {
    const { locks, metrics } = await start({ leaseMs: 20_000, renewalIntervalMs: 50 });
    const lease = await mustAcquire(locks);
    await locks.acquire('root');
    expect(await metricValue(metrics, 'millrace_leases_held')).toBe(1);
    await eventually(async () =>
      expect(await metricValue(metrics, 'millrace_leases_renewed_total')).toBeGreaterThan(0),
    );
    await lease.release();
    const text = await metrics.text();
    expect(text).toContain('millrace_leases_held 0');
    expect(text).toContain('millrace_leases_acquired_total 1');
    expect(text).toContain('millrace_leases_refused_total{reason="held"} 1');
    expect(text).toContain('millrace_lease_hold_seconds_count 1');
  });

  it('is healthy while Redis answers and not once stopped', async () => {
    const { locks } = await start();
    expect(await locks.health()).toEqual({ status: 'up' });
    await locks.stop();
    expect(await locks.health()).toMatchObject({ status: 'down' });
  });
});
