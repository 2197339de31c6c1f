import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { within } from '#service';
import { item, poolOf } from '../testing/items.js';
import { Deferred, type WorkerPool, type WorkItem } from './worker-pool.js';

/** Ends when the pool is stopped, as a well-behaved long item does. */
const untilAborted = (id: string): WorkItem =>
  item(id, async (signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    signal.throwIfAborted();
  });

async function finish(pool: WorkerPool): Promise<Error[]> {
  await pool.idle();
  pool.stop();
  return pool.wait();
}

describe('a WorkerPool under load', () => {
  it('completes each of 1,000 items once', async () => {
    const pool = poolOf({ workers: 8 });
    const runs = new Map<string, number>();
    const work = (id: string): WorkItem =>
      item(id, async () => {
        await turn();
        runs.set(id, (runs.get(id) ?? 0) + 1);
      });
    await Promise.all(Array.from({ length: 1000 }, (_, i) => pool.submit(work(`${i}`))));
    expect(await finish(pool)).toEqual([]);
    expect(runs.size).toBe(1000);
    expect([...runs.values()].every((count) => count === 1)).toBe(true);
    expect(pool.metrics()).toMatchObject({ queued: 1000, processed: 1000, failed: 0, abandoned: 0 });
  });

  it('goes on past items that fail', async () => {
    const pool = poolOf({ workers: 4 });
    const work = (i: number): WorkItem =>
      item(`${i}`, async () => {
        await turn();
        if (i % 3 === 0) throw new Error(`no ${i}`);
      });
    for (let i = 0; i < 300; i++) await pool.submit(work(i));
    const errors = await finish(pool);
    expect(errors.map(({ message }) => message).sort()).toEqual(
      Array.from({ length: 100 }, (_, k) => `item ${3 * k} failed: no ${3 * k}`).sort(),
    );
    expect(pool.metrics()).toMatchObject({ processed: 200, failed: 100 });
  });

  it('goes on with the other workers while one item throws outright', async () => {
    const pool = poolOf({ workers: 4 });
    const crash = item('crash', () => {
      throw new TypeError('undefined is not a function');
    });
    for (let i = 0; i < 50; i++) await pool.submit(i === 10 ? crash : item(`${i}`, () => turn()));
    expect(await finish(pool)).toMatchObject([{ item: 'crash', cause: { name: 'TypeError' } }]);
    expect(pool.metrics()).toMatchObject({ processed: 49, failed: 1 });
  });

  it('ends within five seconds when it is aborted in the middle of its work', async () => {
    const abort = new AbortController();
    const pool = poolOf({ workers: 8, signal: abort.signal });
    for (let i = 0; i < 60; i++) await pool.submit(untilAborted(`${i}`));
    abort.abort(new Error('shutting down'));
    const errors = await within(5000, pool.wait(), () => {
      throw new Error('still running');
    });
    expect(pool.metrics()).toMatchObject({ active: 0, waiting: 0, failed: 8, abandoned: 52 });
    expect(errors).toHaveLength(8);
  });

  it('takes submissions of many producers at once, each in its own order', async () => {
    const pool = poolOf({ workers: 3 });
    const seen = new Map<number, number[]>();
    const work = (producer: number, n: number): WorkItem =>
      item(`${producer}-${n}`, async () => void seen.set(producer, [...(seen.get(producer) ?? []), n]));
    const produce = async (producer: number): Promise<void> => {
      for (let n = 0; n < 50; n++) await pool.submit(work(producer, n));
    };
    await Promise.all(Array.from({ length: 40 }, (_, producer) => produce(producer)));
    await finish(pool);
    const inOrder = Array.from({ length: 50 }, (_, n) => n);
    expect([...seen.values()]).toEqual(Array.from({ length: 40 }, () => inOrder));
  });

  it('answers every submission and keeps count when it is aborted while many producers submit', async () => {
    for (let round = 0; round < 20; round++) {
      const abort = new AbortController();
      const pool = poolOf({ workers: 2, signal: abort.signal });
      const ran = new Set<string>();
      const cut = new Deferred<void>();
      const work = (id: string): WorkItem =>
        item(id, async () => {
          ran.add(id);
          if (ran.size === 1 + round * 5) cut.resolve();
        });
      const outcomes = Promise.allSettled(Array.from({ length: 200 }, (_, i) => pool.submit(work(`${i}`))));
      await cut.promise;
      abort.abort();
      await pool.wait();
      const accepted = (await outcomes).filter(({ status }) => status === 'fulfilled').length;
      const { queued, processed, abandoned, active, waiting } = pool.metrics();
      expect({ queued, active, waiting }).toEqual({ queued: accepted, active: 0, waiting: 0 });
      expect(processed).toBe(ran.size);
      expect(processed + abandoned).toBe(accepted);
    }
  });
});
