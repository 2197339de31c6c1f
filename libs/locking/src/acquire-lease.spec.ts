import { describe, expect, it } from '@jest/globals';
import { Metrics, silentLogger } from '#service';
import { FakeClock } from '#testing';
import type { HeldLease, LeaseContext } from './lease.js';
import { lockMetrics } from './lock-metrics.js';
import type { Result, Verdict } from './lock-nodes.js';
import { acquireLease } from './lock.service.js';

function setUp(given: {
  verdict?: Verdict;
  answered?: number;
  issue?: (clock: FakeClock) => Promise<number>;
}) {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const released: string[] = [];
  const { verdict = 'yes', answered = 3, issue = () => Promise.resolve(1) } = given;
  const agreed: Result = { verdict: 'yes', answered: 3 };
  const nodes: LeaseContext['nodes'] = {
    quorum: 3,
    trouble: undefined,
    lock: () => Promise.resolve({ verdict, answered }),
    renew: () => Promise.resolve(agreed),
    check: () => Promise.resolve(agreed),
    release: (key): Promise<Result> => {
      released.push(key);
      return Promise.resolve(agreed);
    },
  };
  const leases = new Set<HeldLease>();
  const metrics = lockMetrics(new Metrics(), () => leases.size);
  const acquire = (): Promise<HeldLease | null> =>
    acquireLease('k', 1_000, {
      ...{ fences: { issue: () => issue(clock) }, keyPrefix: 'p:', workerId: 'w', stopping },
      ...{ nodes, clock, logger: silentLogger, metrics, leases, renewalIntervalMs: 300 },
    });
  return { acquire, clock, stopping, released };
}

describe('acquiring a lease', () => {
  it('is refused, not unavailable, when enough nodes answered and votes were split', async () => {
    const { acquire } = setUp({ verdict: 'inconclusive', answered: 3 });
    expect(await acquire()).toBeNull();
  });

  it('does not take too few answers for a refusal', async () => {
    const { acquire } = setUp({ verdict: 'inconclusive', answered: 2 });
    await expect(acquire()).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      answered: 2,
      needed: 3,
    });
  });

  it('gives a lock back whose fence came after the lease ran out', async () => {
    const slow = (clock: FakeClock): Promise<number> => {
      clock.advance(1_000);
      return Promise.resolve(9);
    };
    const { acquire, released } = setUp({ issue: slow });
    await expect(acquire()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(released).toEqual(['p:k']);
  });

  it('gives a lock back for which the database issues no fence, and says why', async () => {
    const cause = new Error('disk full');
    const { acquire, released } = setUp({ issue: () => Promise.reject(cause) });
    await expect(acquire()).rejects.toBe(cause);
    expect(released).toEqual(['p:k']);
  });

  it('gives a lock back that it won while the service was stopping', async () => {
    const { acquire, stopping, released } = setUp({});
    stopping.abort(new Error('stopping'));
    await expect(acquire()).rejects.toThrow('stopping');
    expect(released).toEqual(['p:k']);
  });

  it('has another owner id for each acquisition', async () => {
    const { acquire } = setUp({});
    const [first, second] = [await acquire(), await acquire()];
    expect(first?.ownerId).toMatch(/^w\/[0-9a-f-]{36}$/);
    expect(first?.ownerId).not.toBe(second?.ownerId);
    await Promise.all([first?.release(), second?.release()]);
  });
});
