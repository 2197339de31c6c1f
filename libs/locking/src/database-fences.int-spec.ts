import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Database, execute, queryRows, type EntityManager } from '#database';
import { Metrics, silentLogger } from '#service';
import {
  DATABASE_KINDS,
  eventually,
  guardLeaks,
  startRedis,
  testDatabase,
  type RedisServer,
  type TestDatabase,
} from '#testing';
import { DatabaseFences, type Lease, type LockService } from './index.js';
import { lockService } from '../testing/lock-service.js';

describe.each(DATABASE_KINDS)('fences from %s', (kind) => {
  let server: RedisServer;
  let place: TestDatabase;
  let database: Database;
  let fences: DatabaseFences;
  let first: LockService;
  let second: LockService;

  afterEach(async () => {
    await Promise.all([first.stop(), second.stop()]);
    await database.stop();
    await Promise.all([place.remove(), server.stop()]);
  });
  // Hooks run in the order they are written: the guard looks last.
  guardLeaks();

  beforeEach(async () => {
    [server, place] = await Promise.all([startRedis(), testDatabase(kind)]);
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    fences = new DatabaseFences(database);
    await database.inTransaction((tx) => execute(tx, 'CREATE TABLE effects (owner text)'));
    first = lockService({ urls: [server.url], fences, workerId: 'first' }).locks;
    second = lockService({ urls: [server.url], fences, workerId: 'second' }).locks;
    await Promise.all([first.start(), second.start()]);
  });

  const mustAcquire = (locks: LockService, key = 'root'): Promise<Lease> =>
    eventually(async () => (await locks.acquire(key)) ?? false);

  const record =
    ({ ownerId }: Lease) =>
    (tx: EntityManager): Promise<number> =>
      execute(tx, 'INSERT INTO effects (owner) VALUES ($1)', [ownerId]);
  const effects = async (): Promise<string[]> =>
    (await database.read((tx) => queryRows<{ owner: string }>(tx, 'SELECT owner FROM effects'))).map(
      ({ owner }) => owner,
    );

  it('grow through a flushed Redis and a Redis that restarts empty', async () => {
    const issued = [(await mustAcquire(first)).fence];
    await server.flush();
    issued.push((await mustAcquire(second)).fence);
    await server.restart({ empty: true });
    issued.push((await mustAcquire(first)).fence);
    expect(issued).toEqual([1, 2, 3]);
  });

  it('are counted for each key', async () => {
    const [a, b] = [await mustAcquire(first, 'a'), await mustAcquire(first, 'b')];
    expect([a.fence, b.fence]).toEqual([1, 1]);
  });

  it('let the write of the newest lease through', async () => {
    const lease = await mustAcquire(first);
    await fences.writeIfFence(lease, record(lease));
    expect(await effects()).toEqual([lease.ownerId]);
  });

  it('refuse the write of a lease that does not know yet that it was overtaken, and change nothing', async () => {
    const old = await mustAcquire(first);
    await server.flush();
    const next = await mustAcquire(second);
    expect(old.held).toBe(true);
    await expect(fences.writeIfFence(old, record(old))).rejects.toMatchObject({
      code: 'LEASE_LOST',
      reason: 'fenced',
      cause: { code: 'STALE_FENCE' },
    });
    expect([old.held, old.signal.aborted]).toEqual([false, true]);
    await fences.writeIfFence(next, record(next));
    expect(await effects()).toEqual([next.ownerId]);
  });

  it('refuse a write that was overtaken within its own transaction', async () => {
    const old = await mustAcquire(first);
    await server.flush();
    await mustAcquire(second);
    const outer = database.inTransaction(async (tx) => {
      await record(old)(tx);
      await fences.writeIfFence(old, record(old));
    });
    await expect(outer).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await effects()).toEqual([]);
  });

  it('refuse the old holder even when Redis believes in it again, as after a split brain', async () => {
    const old = await mustAcquire(first);
    await server.flush();
    const next = await mustAcquire(second);
    await server.command('SET', 'test-lock:root', old.ownerId, 'PX', '30000');
    await expect(old.verify()).resolves.toBeUndefined();
    await expect(fences.writeIfFence(old, record(old))).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await effects()).toEqual([]);
    await next.release();
  });

  it('tell a lease that was lost and won back by the same worker from the old one', async () => {
    const old = await mustAcquire(first);
    await server.flush();
    await mustAcquire(second).then((lease) => lease.release());
    const again = await mustAcquire(first);
    await fences.writeIfFence(again, record(again));
    await expect(fences.writeIfFence(old, record(old))).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await effects()).toEqual([again.ownerId]);
    expect(again.held).toBe(true);
  });

  it('refuse work after the event loop was blocked for longer than the lease', async () => {
    const { locks: hasty } = lockService({ urls: [server.url], fences, workerId: 'first', leaseMs: 2_000 });
    await hasty.start();
    const old = await mustAcquire(hasty);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_050);
    // No timer has run since: only the clock knows.
    await expect(fences.writeIfFence(old, record(old))).rejects.toMatchObject({
      code: 'LEASE_LOST',
      reason: 'expired',
    });
    const next = await mustAcquire(second);
    expect(next.fence).toBeGreaterThan(old.fence);
    expect(await effects()).toEqual([]);
    await hasty.stop();
  });

  it('are not taken for granted: without the database there is no lease, and the lock is free again', async () => {
    await database.stop();
    await expect(first.acquire('root')).rejects.toMatchObject({ code: 'DATABASE_CLOSED' });
    expect(await server.command('EXISTS', 'test-lock:root')).toBe(':0');
  });
});
