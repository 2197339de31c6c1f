import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#service';
import { fullPool, HeldItem, item, poolOf } from '../testing/items.js';
import type { WorkItem } from './worker-pool.js';
import { type ItemFailedError } from './worker-pool.errors.js';

const stopped = { code: 'POOL_STOPPED', reason: 'stopped' };

describe('stop', () => {
  it('aborts the signal of running items and does not wait for them', async () => {
    const pool = poolOf();
    const held = new HeldItem();
    await pool.submit(held);
    const signal = await held.started.promise;
    pool.stop();
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject(stopped);
    expect(pool.metrics().active).toBe(1);
    held.release.resolve();
    expect(await pool.wait()).toEqual([]);
    expect(pool.metrics()).toMatchObject({ active: 0, processed: 1 });
  });

  it('logs the figures of the pool once nothing runs any more', async () => {
    const lines: Record<string, unknown>[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const logger = createLogger({ service: 'test', workerId: 'w', level: 'debug', stream });
    const { pool, busy } = await fullPool({ logger, name: 'p' });
    pool.stop();
    expect(lines.filter(({ msg }) => msg === 'worker pool status')).toEqual([]);
    busy.release.resolve();
    await pool.wait();
    expect(lines.filter(({ msg }) => msg === 'worker pool status')).toMatchObject([
      { level: 'debug', pool: 'p', processed: 1, failed: 0, queued: 11, active: 0, abandoned: 10 },
    ]);
  });

  it('may be called again at any time', async () => {
    const { pool, busy } = await fullPool();
    pool.stop();
    pool.stop();
    busy.release.resolve();
    await pool.wait();
    pool.stop();
    expect(pool.metrics()).toMatchObject({ abandoned: 10, processed: 1 });
  });

  it('starts nothing more, and counts every item it left unstarted', async () => {
    const { pool, busy, order } = await fullPool();
    pool.stop();
    busy.release.resolve();
    await pool.wait();
    expect(order).toEqual([]);
    expect(pool.metrics()).toMatchObject({ waiting: 0, abandoned: 10 });
  });

  it('abandons an item that was accepted but had not begun', async () => {
    const pool = poolOf();
    let ran = false;
    const accepted = pool.submit(item('a', async () => void (ran = true)));
    pool.stop();
    await accepted;
    await pool.wait();
    expect(ran).toBe(false);
    expect(pool.metrics()).toMatchObject({ queued: 1, abandoned: 1, active: 0 });
  });

  it('leaves no listener on the signal it followed', () => {
    const { signal } = new AbortController();
    const pool = poolOf({ signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    pool.stop();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('wait', () => {
  it('resolves only when the last running item has ended', async () => {
    const pool = poolOf({ workers: 2 });
    const items = [new HeldItem('a'), new HeldItem('b')] as const;
    for (const held of items) await pool.submit(held);
    await Promise.all(items.map(({ started }) => started.promise));
    pool.stop();
    let ended = false;
    const waiting = pool.wait().then(() => (ended = true));
    items[0].release.resolve();
    await turn();
    expect(ended).toBe(false);
    items[1].release.resolve();
    await waiting;
    expect(ended).toBe(true);
  });

  it('returns the error of every failed item, with its id and what it threw, as often as asked', async () => {
    const pool = poolOf({ workers: 2 });
    const causes = [new Error('one'), new TypeError('two'), new RangeError('three')];
    for (const [i, cause] of causes.entries()) await pool.submit(item(`${i}`, () => Promise.reject(cause)));
    await pool.submit(item('fine'));
    await pool.idle();
    pool.stop();
    const errors = await pool.wait();
    expect(errors.map((error) => [(error as ItemFailedError).item, error.cause])).toEqual([
      ['0', causes[0]],
      ['1', causes[1]],
      ['2', causes[2]],
    ]);
    expect(await pool.wait()).toEqual(errors);
  });

  it('keeps errors up to a limit and says how many more there were', async () => {
    const pool = poolOf({ maxErrors: 2 });
    for (let i = 0; i < 5; i++) await pool.submit(item(`${i}`, () => Promise.reject(new Error('no'))));
    await pool.idle();
    pool.stop();
    expect(await pool.wait()).toMatchObject([
      { code: 'ITEM_FAILED', item: '0' },
      { code: 'ITEM_FAILED', item: '1' },
      { code: 'ERRORS_OMITTED', omitted: 3, kept: 2 },
    ]);
    expect(pool.metrics().failed).toBe(5);
  });
});

describe('idle', () => {
  it('resolves at once when there is nothing to do', async () => {
    await expect(poolOf().idle()).resolves.toBeUndefined();
  });

  it('waits for what items submit before they end', async () => {
    const pool = poolOf({ workers: 2 });
    const done: string[] = [];
    const descend = (id: string, depth: number): WorkItem =>
      item(id, async () => {
        await turn();
        if (depth > 0) await pool.submit(descend(`${id}/x`, depth - 1));
        done.push(id);
      });
    await pool.submit(descend('root', 3));
    await pool.idle();
    expect(done).toHaveLength(4);
  });

  it('rejects when the pool is stopped instead, since work may be left', async () => {
    const { pool, busy } = await fullPool();
    const idle = pool.idle();
    pool.stop();
    await expect(idle).rejects.toMatchObject(stopped);
    await expect(pool.idle()).rejects.toMatchObject(stopped);
    busy.release.resolve();
    await pool.wait();
  });
});
