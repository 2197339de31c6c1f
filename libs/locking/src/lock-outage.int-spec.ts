import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually, guardLeaks, startRedis, type RedisServer } from '#testing';
import type { Lease, LockService } from './index.js';
import { lockService, metricValue } from '../testing/lock-service.js';

describe('lock service while Redis fails', () => {
  let server: RedisServer;
  let locks: LockService | undefined;

  afterEach(async () => {
    await locks?.stop();
    await server.stop();
  });
  // Hooks run in the order they are written: the guard looks last.
  guardLeaks();

  beforeEach(async () => {
    server = await startRedis();
  });

  async function start(leaseMs: number, renewalIntervalMs: number, nodeTimeoutMs = 500) {
    const made = lockService({ urls: [server.url], leaseMs, renewalIntervalMs, nodeTimeoutMs });
    locks = made.locks;
    await locks.start();
    return made;
  }

  const mustAcquire = (key = 'root'): Promise<Lease> =>
    eventually(async () => (await locks?.acquire(key)) ?? false);

  interface Measured {
    first: 'aborted' | 'expired';
    renewals: number;
  }

  /**
   * Hangs Redis right after an acquisition. The key cannot expire before `earliestExpiry` unless it was renewed. Which timer is
   * due first does not depend on how busy the machine is.
   */
  async function hang(key: string, metrics: ReturnType<typeof lockService>['metrics']): Promise<Measured> {
    const probe = new Redis(server.url);
    const before = await metricValue(metrics, 'millrace_leases_renewed_total');
    const lease = await mustAcquire(key);
    const aborted = new Promise<'aborted'>((resolve) =>
      lease.signal.addEventListener('abort', () => resolve('aborted')),
    );
    // The server answers after it was asked, so the key lives at least this long by our clock.
    const askedAt = performance.now();
    const earliestExpiry = askedAt + (await probe.pttl(`test-lock:${key}`));
    probe.disconnect();
    server.pause();
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<'expired'>((resolve) => {
      timer = setTimeout(resolve, earliestExpiry - performance.now(), 'expired');
    });
    const first = await Promise.race([aborted, expired]);
    clearTimeout(timer);
    await aborted;
    server.resume();
    await lease.release();
    const renewals = (await metricValue(metrics, 'millrace_leases_renewed_total')) - before;
    return { first, renewals };
  }

  it('aborts the signal before the lease can have expired on a Redis that hangs', async () => {
    const { metrics } = await start(6_000, 2_000);
    // A renewal between the question and the hang would move the expiry: measure again then.
    const measured = await eventually(
      async () => {
        const result = await hang(`hung-${performance.now()}`, metrics);
        return result.renewals === 0 && result;
      },
      { timeoutMs: 60_000 },
    );
    expect(measured.first).toBe('aborted');
  }, 120_000);

  it('keeps a lease through a hang that is shorter than it', async () => {
    const { metrics } = await start(20_000, 100);
    const lease = await mustAcquire();
    server.pause();
    // A renewal that got no answer in time shows in the deadline: it stands still.
    await expect(lease.verify()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    server.resume();
    const before = await metricValue(metrics, 'millrace_leases_renewed_total');
    await eventually(async () =>
      expect(await metricValue(metrics, 'millrace_leases_renewed_total')).toBeGreaterThan(before),
    );
    await expect(lease.verify()).resolves.toBeUndefined();
  });

  it('reports down and refuses to say who holds a lock while Redis hangs, and recovers', async () => {
    await start(20_000, 5_000);
    server.pause();
    expect(await locks?.health()).toMatchObject({ status: 'down' });
    await expect(locks?.acquire('root')).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    server.resume();
    // The lock that the hung server took after all was given back behind it.
    await eventually(async () => expect(await locks?.acquire('root')).toMatchObject({ held: true }));
  });

  it('stops within the timeout of a command although Redis hangs', async () => {
    await start(20_000, 5_000);
    const { signal } = await mustAcquire();
    server.pause();
    await locks?.stop();
    expect(signal.reason).toMatchObject({ reason: 'stopped' });
  });

  it('reconnects to a Redis that was killed, and finds out that it came back empty', async () => {
    await start(20_000, 100);
    const lease = await mustAcquire();
    await server.kill();
    await expect(lease.verify()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await server.restart();
    await eventually(() => expect(lease.signal.aborted).toBe(true));
    expect(lease.signal.reason).toMatchObject({ reason: 'refused' });
    expect((await mustAcquire()).fence).toBeGreaterThan(lease.fence);
  });

  it('finds its scripts again after they were flushed', async () => {
    await start(20_000, 5_000);
    await mustAcquire('a').then((lease) => lease.release());
    await server.command('SCRIPT', 'FLUSH');
    const lease = await mustAcquire('b');
    await lease.release();
    expect(await server.command('EXISTS', 'test-lock:b')).toBe(':0');
  });
});
