import { getMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { fullPool, HeldItem, item, poolOf } from '../testing/items.js';
import { Deferred } from './worker-pool.js';

const stopped = { code: 'POOL_STOPPED', reason: 'stopped' };

describe('a new WorkerPool', () => {
  it.each([0, -1, 1.5, NaN, Infinity])('refuses %p workers and names what is allowed', (workers) => {
    expect(() => poolOf({ workers })).toThrow(
      expect.objectContaining({
        code: 'INVALID_POOL_OPTION',
        option: 'workers',
        found: workers,
        message: `pool option workers is ${workers}; give a whole number of at least 1`,
      }),
    );
  });

  it('has a queue of ten items a worker', () => {
    expect(poolOf({ workers: 1 }).capacity).toBe(10);
    expect(poolOf({ workers: 7 }).capacity).toBe(70);
  });

  it('runs as many items at once as it has workers, and no more', async () => {
    const pool = poolOf({ workers: 3 });
    const items = Array.from({ length: 4 }, (_, i) => new HeldItem(`${i}`));
    for (const held of items) await pool.submit(held);
    await Promise.all(items.slice(0, 3).map(({ started }) => started.promise));
    expect(pool.metrics()).toMatchObject({ active: 3, waiting: 1 });
    items[1]?.release.resolve();
    await items[3]?.started.promise;
    expect(pool.metrics()).toMatchObject({ active: 3, waiting: 0, processed: 1 });
    items.forEach(({ release }) => release.resolve());
    await pool.idle();
  });

  it('lets any number of items listen for its stop without a warning of a leak', async () => {
    const pool = poolOf();
    const held = new HeldItem();
    await pool.submit(held);
    expect(getMaxListeners(await held.started.promise)).toBe(Infinity);
    held.release.resolve();
    await pool.idle();
  });

  it('takes nothing when its signal had aborted before', async () => {
    const pool = poolOf({ signal: AbortSignal.abort() });
    await expect(pool.submit(item('a'))).rejects.toMatchObject({ code: 'POOL_STOPPED', reason: 'aborted' });
    expect(await pool.wait()).toEqual([]);
  });
});

describe('submit', () => {
  it('never runs the item on the stack of its caller', async () => {
    const pool = poolOf();
    let ran = false;
    const accepted = pool.submit(item('a', async () => void (ran = true)));
    expect(ran).toBe(false);
    await accepted;
    await pool.idle();
    expect(ran).toBe(true);
  });

  it('waits while the queue is full and goes on when an item was taken from it', async () => {
    const { pool, busy, named } = await fullPool();
    let accepted = false;
    const waiting = pool.submit(named('late')).then(() => (accepted = true));
    await turn();
    expect(accepted).toBe(false);
    expect(pool.metrics()).toMatchObject({ queued: 11, waiting: 10, active: 1 });
    busy.release.resolve();
    await waiting;
    await pool.idle();
    expect(pool.metrics()).toMatchObject({ queued: 12, processed: 12, waiting: 0, active: 0 });
  });

  it('accepts waiting submitters in the order of their calls', async () => {
    const { pool, busy, order, named } = await fullPool();
    const late = Array.from({ length: 25 }, (_, i) => pool.submit(named(`late-${i}`)));
    busy.release.resolve();
    await Promise.all(late);
    await pool.idle();
    expect(order.slice(10)).toEqual(Array.from({ length: 25 }, (_, i) => `late-${i}`));
  });

  it('rejects after a stop', async () => {
    const pool = poolOf();
    pool.stop();
    await expect(pool.submit(item('a'))).rejects.toMatchObject(stopped);
    expect(pool.metrics().queued).toBe(0);
  });

  it('rejects after an abort, with the reason as cause', async () => {
    const abort = new AbortController();
    const pool = poolOf({ signal: abort.signal, name: 'scan' });
    const reason = new Error('lease lost');
    abort.abort(reason);
    await expect(pool.submit(item('a'))).rejects.toMatchObject({
      code: 'POOL_STOPPED',
      pool: 'scan',
      reason: 'aborted',
      cause: reason,
    });
  });

  it.each(['stop', 'abort'])('rejects those already waiting on a %s', async (how) => {
    const abort = new AbortController();
    const { pool, busy, named } = await fullPool({ signal: abort.signal });
    const waiting = [pool.submit(named('x')), pool.submit(named('y'))];
    if (how === 'stop') pool.stop();
    else abort.abort();
    const outcomes = await Promise.allSettled(waiting);
    expect(
      outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as { code: string }).code),
    ).toEqual(['POOL_STOPPED', 'POOL_STOPPED']);
    busy.release.resolve();
    await pool.wait();
    expect(pool.metrics().queued).toBe(11);
  });
});

describe('an item that uses its own pool', () => {
  it('may submit while the queue has room', async () => {
    const pool = poolOf();
    await pool.submit(item('parent', () => pool.submit(item('child'))));
    await pool.idle();
    expect(pool.metrics()).toMatchObject({ processed: 2, failed: 0 });
  });

  it('may leave behind a producer that waits for room once the item has ended', async () => {
    const pool = poolOf();
    const go = new Deferred<void>();
    let producer: Promise<void> | undefined;
    const parent = item('parent', async () => {
      producer = go.promise.then(async () => {
        for (let i = 0; i < 30; i++) await pool.submit(item(`late-${i}`));
      });
    });
    await pool.submit(parent);
    await pool.idle();
    go.resolve();
    await producer;
    await pool.idle();
    expect(pool.metrics().processed).toBe(31);
  });

  it('may wait for room in another pool', async () => {
    const { pool: other, busy, named } = await fullPool();
    const pool = poolOf();
    await pool.submit(item('parent', () => other.submit(named('from outside'))));
    busy.release.resolve();
    await pool.idle();
    expect(pool.metrics()).toMatchObject({ processed: 1, failed: 0 });
    await other.idle();
  });
});
