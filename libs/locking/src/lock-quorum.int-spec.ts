import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, startRedis, type RedisServer } from '#testing';
import { LockUnavailableError, type Lease, type LockService, type LockServiceOptions } from './index.js';
import { lockService } from '../testing/lock-service.js';

const LEASE_MS = 5_000;
// Longer than the restart delay that a fresh or restarted node makes everyone wait.
const PATIENCE = { timeoutMs: 40_000 };

describe('a quorum of five Redis nodes', () => {
  const servers: RedisServer[] = [];
  const started: LockService[] = [];
  let key = '';
  let tests = 0;

  beforeAll(async () => {
    servers.push(...(await Promise.all(Array.from({ length: 5 }, () => startRedis()))));
  });

  beforeEach(() => {
    key = `root-${++tests}`;
  });

  afterEach(async () => {
    await Promise.all(started.splice(0).map((locks) => locks.stop()));
    for (const server of servers) server.resume();
  });

  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  async function start(given: Partial<LockServiceOptions> = {}): Promise<LockService> {
    const urls = servers.map(({ url }) => url);
    const { locks } = lockService({
      urls,
      leaseMs: LEASE_MS,
      renewalIntervalMs: 200,
      nodeTimeoutMs: 1_000,
      ...given,
    });
    await locks.start();
    started.push(locks);
    return locks;
  }

  async function mustAcquire(locks: LockService): Promise<Lease> {
    const lease = await eventually(async () => (await locks.acquire(key)) ?? false, PATIENCE);
    if (!lease) throw new Error(`${key} is held`);
    return lease;
  }

  /** Held by another or, while nodes are too young to vote, nobody can say; never a lease. */
  async function expectRefused(locks: LockService): Promise<void> {
    const outcome = await locks.acquire(key).catch((error: unknown) => error);
    expect(outcome === null || (outcome instanceof LockUnavailableError && outcome.code)).toBeTruthy();
  }

  const some = (...numbers: number[]): RedisServer[] =>
    numbers.map((number) => servers[number] as RedisServer);
  const has = async (server: RedisServer): Promise<boolean> =>
    (await server.command('EXISTS', `test-lock:${key}`)) === ':1';
  const keptBy = async (among: readonly RedisServer[]): Promise<number> =>
    (await Promise.all(among.map(has))).filter(Boolean).length;

  it('takes the lock on every node and releases it on every node', async () => {
    const locks = await start();
    const lease = await mustAcquire(locks);
    await eventually(async () => expect(await keptBy(servers)).toBe(5));
    await lease.verify();
    expect(await locks.acquire(key)).toBeNull();
    await lease.release();
    await eventually(async () => expect(await keptBy(servers)).toBe(0));
  });

  it('works with two nodes hung: acquires, renews, verifies, releases', async () => {
    const locks = await start();
    await mustAcquire(locks).then((lease) => lease.release());
    const hung = some(0, 1);
    for (const server of hung) server.pause();
    const lease = await mustAcquire(locks);
    const before = lease.expiresAt;
    await eventually(() => expect(lease.expiresAt).toBeGreaterThan(before));
    await lease.verify();
    expect(await locks.health()).toEqual({ status: 'up' });
    await lease.release();
    expect(await keptBy(some(2, 3, 4))).toBe(0);
  });

  it('loses a held lease and refuses new ones with three nodes hung, and says why', async () => {
    const locks = await start();
    const lease = await mustAcquire(locks);
    const { signal } = lease;
    for (const server of some(0, 1, 2)) server.pause();
    await eventually(() => expect(signal.aborted).toBe(true));
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    await lease.release();
    await expect(locks.acquire(key)).rejects.toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      answered: 2,
      needed: 3,
    });
    expect(await locks.health()).toMatchObject({ status: 'down' });
    // What the two granted is given back, not left to expire.
    await eventually(async () => expect(await keptBy(some(3, 4))).toBe(0));
  });

  it('works with two nodes down and refuses with three', async () => {
    const locks = await start();
    await mustAcquire(locks).then((lease) => lease.release());
    await Promise.all(some(0, 1).map((server) => server.kill()));
    const lease = await mustAcquire(locks);
    await lease.verify();
    expect(await keptBy(some(2, 3, 4))).toBe(3);
    await lease.release();
    await some(2)[0]?.kill();
    await eventually(() =>
      expect(locks.acquire(key)).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', answered: 2 }),
    );
    const late = lockService({ urls: servers.map(({ url }) => url) }).locks;
    await expect(late.start()).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE', answered: 2, needed: 3 });
    await Promise.all(some(0, 1, 2).map((server) => server.restart()));
    const again = await mustAcquire(locks);
    expect(again.fence).toBeGreaterThan(lease.fence);
  });

  it('keeps a lease through restarts of all nodes one after another, each coming back empty', async () => {
    const locks = await start({ leaseMs: 15_000 });
    const other = await start({ workerId: 'other' });
    const lease = await mustAcquire(locks);
    // A majority makes the lease; nodes that were too young to vote get it with the next renewal.
    await eventually(async () => expect(await keptBy(servers)).toBe(5));
    for (const server of servers) {
      await server.restart({ empty: true });
      await expectRefused(other);
      await eventually(async () => expect(await has(server)).toBe(true));
    }
    await lease.verify();
  });

  it('does not let a node that restarted empty vote before every lease it may have forgotten has run out', async () => {
    // Another holder has the lock on a bare majority: nodes 0, 1 and 2.
    for (const server of some(0, 1, 2))
      await server.command('SET', `test-lock:${key}`, 'holder', 'PX', '120000');
    await some(2)[0]?.restart({ empty: true });
    const locks = await start();
    await expectRefused(locks);
    // Without the delay (here cut to next to nothing) nodes 2, 3 and 4 would make a second majority.
    const hasty = await start({ leaseMs: 50 });
    expect(await eventually(async () => (await hasty.acquire(key)) ?? false, PATIENCE)).toMatchObject({
      key,
    });
  });
});
