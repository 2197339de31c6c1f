import { afterEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import { eventually, guardLeaks } from '#testing';
import { closePools, heldTask, openPool, run } from '../testing/threads.js';
import { ThreadSet } from './thread-set.js';

afterEach(closePools);
guardLeaks();

const threadSet = (threads: number): ThreadSet => new ThreadSet({ threads, logger: silentLogger });

describe('pools that share a set of threads', () => {
  it('run their tasks in turn, each with its own data', async () => {
    const set = threadSet(1);
    const [one, other] = [openPool({ set, data: 'one' }), openPool({ set, data: 'other' })];
    const seen = [one, other, one].map((pool) => run(pool, { do: 'data' }));
    expect(await Promise.all(seen)).toEqual(['one', 'other', 'one']);
    expect(set.alive).toBe(1);
  });

  it('run first what came first, whichever pool it is of', async () => {
    const set = threadSet(1);
    const [one, other] = [openPool({ set }), openPool({ set })];
    const held = heldTask();
    const running = run(one, held.task);
    await eventually(held.hasStarted);
    const ended: unknown[] = [];
    const waiting = [other, other, one, other, one].map(async (pool, value) =>
      ended.push(await run(pool, { do: 'echo', value })),
    );
    held.release();
    await Promise.all([running, ...waiting]);
    expect(ended).toEqual([0, 1, 2, 3, 4]);
  });

  it('count only their own tasks as running or waiting', async () => {
    const set = threadSet(1);
    const [one, other] = [openPool({ set }), openPool({ set })];
    const held = heldTask();
    const running = run(one, held.task);
    await eventually(held.hasStarted);
    const waiting = run(other, { do: 'echo', value: 1 });
    expect(one.metrics()).toMatchObject({ active: 1, waiting: 0 });
    expect(other.metrics()).toMatchObject({ active: 0, waiting: 1 });
    held.release();
    await Promise.all([running, waiting]);
  });

  it('leave the threads to the others when they close, and take them again when they start', async () => {
    const set = threadSet(2);
    const [one, other] = [openPool({ set }), openPool({ set })];
    await Promise.all([one.start(), other.start()]);
    await one.stop();
    expect(await run(other, { do: 'echo', value: 1 })).toBe(1);
    await expect(run(one, { do: 'echo', value: 2 })).rejects.toMatchObject({ code: 'POOL_STOPPED' });
    await one.start();
    expect(await run(one, { do: 'echo', value: 3 })).toBe(3);
    await Promise.all([one.stop(), other.stop()]);
    expect(set.alive).toBe(0);
  });

  it('have no more threads than the set', () => {
    expect(openPool({ set: threadSet(1), threads: 8 }).threads).toBe(1);
  });
});
