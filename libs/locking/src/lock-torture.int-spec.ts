import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { Database, execute, queryRows } from '#database';
import { Metrics, silentLogger } from '#service';
import {
  DATABASE_KINDS,
  eventually,
  Random,
  spawnBuilt,
  startRedis,
  testDatabase,
  testSeed,
  type Child,
  type RedisServer,
  type TestDatabase,
} from '#testing';
import type { HolderOrders } from '../testing/lock-holder.process.js';

const FULL = process.env.MILLRACE_TORTURE === 'full';
const LEASE_MS = 400;
const PROCESSES = 8;
const TORTURE_MS = FULL ? 60_000 : 6_000;
const KEY = 'root';
const TORTURED: Partial<HolderOrders> = { mode: 'guarded', stopBeforeWrite: 0.05 };

interface Written {
  fence: number;
  owner: string;
  newest: number;
}

/** Accepted writes, in the order of their commits, that break exclusion. */
function violations(writes: readonly Written[]): string[] {
  const owners = new Map<number, string>();
  let highest = 0;
  return writes.flatMap(({ fence, owner, newest }) => {
    const before = highest;
    highest = Math.max(highest, fence);
    const first = owners.get(fence) ?? owner;
    owners.set(fence, first);
    return [
      ...(newest !== fence ? [`fence ${fence} was accepted although ${newest} had been issued`] : []),
      ...(fence < before ? [`fence ${fence} was accepted after ${before}`] : []),
      ...(first !== owner ? [`fence ${fence} belongs to ${first} and ${owner}`] : []),
    ];
  });
}

// Before it is ready it does not listen, and the signal would end it.
const isReady = (holder: Child): boolean => holder.stdout.startsWith('ready');

describe.each(DATABASE_KINDS)('leases tortured, fences from %s', (kind) => {
  let redis: RedisServer;
  let place: TestDatabase;
  let database: Database;
  const holders = new Set<Child>();

  beforeEach(async () => {
    [redis, place] = await Promise.all([startRedis(), testDatabase(kind)]);
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    const id = kind === 'sqlite' ? 'integer PRIMARY KEY AUTOINCREMENT' : 'bigserial PRIMARY KEY';
    await database.inTransaction((tx) =>
      execute(tx, `CREATE TABLE lock_writes (seq ${id}, fence bigint, owner text, newest bigint)`),
    );
  });

  afterEach(async () => {
    await endAll();
    await database.stop();
    await Promise.all([place.remove(), redis.stop()]);
  });

  async function spawnHolder(workerId: string, given: Partial<HolderOrders>): Promise<Child> {
    const orders: HolderOrders = {
      redisUrl: redis.url,
      databaseUrl: place.url,
      key: KEY,
      workerId,
      leaseMs: LEASE_MS,
      mode: 'guarded',
      stopBeforeWrite: 0,
      writes: 10,
      ...given,
    };
    const holder = spawnBuilt('libs/locking/testing/lock-holder.process', [JSON.stringify(orders)]);
    holders.add(holder);
    await holder.output('ready', 180_000);
    return holder;
  }

  async function endAll(): Promise<void> {
    await Promise.all([...holders].map((holder) => holder.end('SIGKILL')));
    holders.clear();
  }

  const written = (): Promise<Written[]> =>
    database.read((tx) =>
      queryRows<Written>(tx, 'SELECT fence, owner, newest FROM lock_writes ORDER BY seq'),
    );

  const seenBroken = async (): Promise<string[]> => {
    const broken = violations(await written());
    expect(broken).not.toEqual([]);
    return broken;
  };

  /** Not vacuous: the lock changed hands many times and work was done. */
  const manyHands = async (): Promise<void> => {
    const writes = await written();
    expect(new Set(writes.map(({ fence }) => fence)).size).toBeGreaterThan(5);
    expect(new Set(writes.map(({ owner }) => owner.split('/')[0])).size).toBeGreaterThan(2);
  };

  /** Stops and continues one process after another for longer than the lease and kills some, until `over` aborts. */
  async function torment(crowd: readonly Child[], random: Random, over: AbortSignal): Promise<void> {
    const between = (low: number, high: number): number => low + random.next() * (high - low);
    const one = async (holder: Child): Promise<void> => {
      while (!over.aborted) {
        await pause(between(0.2, 2) * LEASE_MS);
        const killed = random.next() < 0.05;
        holder.signal(killed ? 'SIGKILL' : 'SIGSTOP');
        await pause(between(1.2, 3) * LEASE_MS);
        // It may also have stopped itself, between check and write.
        holder.signal('SIGCONT');
        if (killed && !over.aborted) return one(await spawnHolder(`h${holders.size}`, TORTURED));
      }
    };
    await Promise.all(crowd.map(one));
  }

  async function flushTwice(): Promise<void> {
    for (let times = 0; times < 2; times++) {
      await pause(TORTURE_MS / 3);
      await redis.flush();
    }
    await pause(TORTURE_MS / 3);
  }

  it(`accepts no stale write from ${PROCESSES} processes that are stopped, killed and robbed of Redis, until the fence is switched off`, async () => {
    const seed = testSeed();
    const over = new AbortController();
    const names = Array.from({ length: PROCESSES }, (_, number) => `h${number}`);
    const crowd = await Promise.all(names.map((name) => spawnHolder(name, TORTURED)));
    const tormented = torment(crowd, new Random(seed), over.signal);
    try {
      await flushTwice();
      await eventually(manyHands, { timeoutMs: 60_000 });
      const writes = await written();
      expect({ seed, violations: violations(writes) }).toEqual({ seed, violations: [] });
      // The same torture sees what the fence prevents.
      for (const holder of holders) if (isReady(holder)) holder.signal('SIGUSR2');
      const broken = await eventually(seenBroken, { timeoutMs: 120_000, everyMs: 200 });
      expect(broken[0]).toMatch(/was accepted/);
    } finally {
      over.abort();
      await tormented;
    }
  }, 600_000);

  /** One holder is stopped between its check and its write; another takes over and writes; then the first goes on. */
  async function overtake(mode: HolderOrders['mode']): Promise<{ slow: Child; writes: Written[] }> {
    const once = { mode, writes: 1, once: true };
    const slow = await spawnHolder('slow', { ...once, leaseMs: 2_000, stopBeforeWrite: 1 });
    await slow.output('verified 1', 120_000);
    const quick = await spawnHolder('quick', { ...once, leaseMs: 20_000 });
    await quick.output('ended', 120_000);
    expect(quick.stdout).toContain('wrote 2');
    slow.signal('SIGCONT');
    await slow.output('ended', 120_000);
    return { slow, writes: await written() };
  }

  it('refuses, by the fence alone, the write of a holder that was stopped between check and write', async () => {
    const { slow, writes } = await overtake('fenced');
    expect(slow.stdout).toContain('refused STALE_FENCE');
    expect(writes.map(({ fence }) => fence)).toEqual([2]);
    expect(violations(writes)).toEqual([]);
  }, 400_000);

  it('is seen to break without the fence: check-on-write alone lets a stale write in', async () => {
    const { slow, writes } = await overtake('unfenced');
    expect(slow.stdout).toContain('wrote 1');
    expect(violations(writes)).toEqual([
      'fence 1 was accepted although 2 had been issued',
      'fence 1 was accepted after 2',
    ]);
  }, 400_000);
});
