import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { Database, execute, queryRows } from '#database';
import { Metrics, silentLogger } from '#service';
import {
  DATABASE_KINDS,
  eventually,
  spawnBuilt,
  startRedis,
  testDatabase,
  type Child,
  type RedisServer,
  type TestDatabase,
} from '#testing';
import type { HolderOrders } from './lock-holder.process.js';

const FULL = process.env.MILLRACE_TORTURE === 'full';
const LEASE_MS = 400;
const PROCESSES = 8;
const TORTURE_MS = FULL ? 60_000 : 8_000;
const KEY = 'root';

interface Written {
  fence: number;
  owner: string;
  newest: number;
}

/** Draws in [0, 1) from a seed, so that a failure can be looked at again. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
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
    const holder = spawnBuilt('libs/locking/src/lock-holder.process', [JSON.stringify(orders)]);
    holders.add(holder);
    await holder.output('ready', 60_000);
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

  /** Stops and continues one process after another for longer than the lease, kills some, flushes Redis twice. */
  async function torture(seed: number, mode: HolderOrders['mode'], over: () => boolean): Promise<void> {
    const random = randomFrom(seed);
    const between = (low: number, high: number): number => low + random() * (high - low);
    let spawned = 0;
    const spawnNext = (): Promise<Child> => spawnHolder(`h${++spawned}`, { mode, stopBeforeWrite: 0.05 });
    const begun = performance.now();

    const torment = async (holder: Child): Promise<void> => {
      while (!over()) {
        await pause(between(0.2, 2) * LEASE_MS);
        const killed = random() < 0.05;
        holder.signal(killed ? 'SIGKILL' : 'SIGSTOP');
        await pause(between(1.2, 3) * LEASE_MS);
        // It may also have stopped itself, between check and write.
        holder.signal('SIGCONT');
        if (killed) return torment(await spawnNext());
      }
    };
    const flush = async (): Promise<void> => {
      for (const share of [1 / 3, 2 / 3]) {
        await pause(Math.max(0, begun + share * TORTURE_MS - performance.now()));
        await redis.flush();
      }
    };
    const crowd = await Promise.all(Array.from({ length: PROCESSES }, spawnNext));
    await Promise.all([flush(), ...crowd.map(torment)]);
    await endAll();
  }

  it(`accepts no stale write from ${PROCESSES} processes that are stopped, killed and robbed of Redis`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    // The clock starts with the first write, not while processes are still loading on a busy machine.
    let until = Infinity;
    const watch = eventually(async () => expect((await written()).length).toBeGreaterThan(0), {
      timeoutMs: 120_000,
    }).then(() => (until = performance.now() + TORTURE_MS));
    await torture(seed, 'guarded', () => performance.now() > until);
    await watch;
    const writes = await written();
    expect({ seed, violations: violations(writes) }).toEqual({ seed, violations: [] });
    // Not vacuous: the lock changed hands many times and work was done.
    expect(new Set(writes.map(({ fence }) => fence)).size).toBeGreaterThan(5);
    expect(new Set(writes.map(({ owner }) => owner.split('/')[0])).size).toBeGreaterThan(2);
  }, 300_000);

  /** One holder is stopped between its check and its write; another takes over and writes; then the first goes on. */
  async function overtake(mode: HolderOrders['mode']): Promise<{ slow: Child; writes: Written[] }> {
    const slow = await spawnHolder('slow', { mode, stopBeforeWrite: 1, writes: 1, once: true });
    await slow.output('verified 1');
    const quick = await spawnHolder('quick', { mode, writes: 1, once: true });
    await quick.output('ended');
    expect(quick.stdout).toContain('wrote 2');
    slow.signal('SIGCONT');
    await slow.output('ended');
    return { slow, writes: await written() };
  }

  it.each(['guarded', 'fenced'] as const)(
    'refuses the write of a holder that was stopped between check and write (%s)',
    async (mode) => {
      const { slow, writes } = await overtake(mode);
      expect(slow.stdout).toMatch(/refused (LEASE_LOST|STALE_FENCE)/);
      expect(writes.map(({ fence }) => fence)).toEqual([2]);
      expect(violations(writes)).toEqual([]);
    },
    180_000,
  );

  it('is seen to break without the fence: check-on-write alone lets a stale write in', async () => {
    const { slow, writes } = await overtake('unfenced');
    expect(slow.stdout).toContain('wrote 1');
    expect(violations(writes)).toEqual([
      'fence 1 was accepted although 2 had been issued',
      'fence 1 was accepted after 2',
    ]);
  }, 180_000);

  it('is seen to break without the fence under the same torture', async () => {
    let broken: string[] = [];
    let over = false;
    const watch = eventually(
      async () => {
        broken = violations(await written());
        expect(broken).not.toEqual([]);
      },
      { timeoutMs: 120_000, everyMs: 200 },
    ).finally(() => (over = true));
    await torture(1, 'unfenced', () => over);
    await watch;
    expect(broken[0]).toMatch(/was accepted/);
  }, 300_000);
});
