import { describe, expect, it } from '@jest/globals';
import { Metrics, silentLogger } from '#service';
import { FakeClock } from '#testing';
import { Acquirer } from './acquirer.js';
import type { Verdict } from './quorum-tally.js';
import type { HeldLease, LeaseContext } from './lease.js';
import { LockMetrics } from './lock-metrics.js';
import type { Result } from './lock-nodes.js';

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
  const metrics = new LockMetrics(new Metrics(), () => leases.size);
  const acquirer = new Acquirer(
    { nodes, clock, logger: silentLogger, metrics, leases, renewalIntervalMs: 300 },
    { fences: { issue: () => issue(clock) }, keyPrefix: 'p:', workerId: 'w' },
    stopping.signal,
  );
  return { acquirer, clock, stopping, released };
}

describe('acquirer', () => {
  it('is refused, not unavailable, when enough nodes answered and votes were split', async () => {
    const { acquirer } = setUp({ verdict: 'inconclusive', answered: 3 });
    expect(await acquirer.acquire('k', 1_000)).toBeNull();
  });

  it('does not take too few answers for a refusal', async () => {
    const { acquirer } = setUp({ verdict: 'inconclusive', answered: 2 });
    await expect(acquirer.acquire('k', 1_000)).rejects.toMatchObject({
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
    const { acquirer, released } = setUp({ issue: slow });
    await expect(acquirer.acquire('k', 1_000)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(released).toEqual(['p:k']);
  });

  it('gives a lock back for which the database issues no fence, and says why', async () => {
    const cause = new Error('disk full');
    const { acquirer, released } = setUp({ issue: () => Promise.reject(cause) });
    await expect(acquirer.acquire('k', 1_000)).rejects.toBe(cause);
    expect(released).toEqual(['p:k']);
  });

  it('gives a lock back that it won while the service was stopping', async () => {
    const { acquirer, stopping, released } = setUp({});
    stopping.abort(new Error('stopping'));
    await expect(acquirer.acquire('k', 1_000)).rejects.toThrow('stopping');
    expect(released).toEqual(['p:k']);
  });

  it('has another owner id for each acquisition', async () => {
    const { acquirer } = setUp({});
    const [first, second] = [await acquirer.acquire('k', 1_000), await acquirer.acquire('k', 1_000)];
    expect(first?.ownerId).toMatch(/^w\/[0-9a-f-]{36}$/);
    expect(first?.ownerId).not.toBe(second?.ownerId);
    await Promise.all([first?.release(), second?.release()]);
  });
});
