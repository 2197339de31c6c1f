import { afterEach, describe, expect, it } from '@jest/globals';
import { Metrics } from '#service';
import { eventually, guardLeaks, serviceContract } from '#testing';
import { closePools, createPool, heldTask, openPool, run } from '../testing/threads.js';
import type { ThreadPool } from './thread-pool.js';

afterEach(closePools);
guardLeaks();

describe('ThreadPool', () => {
  serviceContract(
    'ThreadPool',
    () => createPool({ threads: 1 }),
    (pool) => (pool as ThreadPool).alive > 0,
  );
});

describe('a task', () => {
  it('runs on a thread and resolves with what its handler returned', async () => {
    expect(await run(openPool(), { do: 'echo', value: { path: '/a', size: 3n } })).toEqual({
      path: '/a',
      size: 3n,
    });
  });

  it('sees the data of its pool', async () => {
    expect(await run(openPool({ data: { algorithm: 'sha256' } }), { do: 'data' })).toEqual({
      algorithm: 'sha256',
    });
  });

  it('may be handed memory instead of a copy of it', async () => {
    const buffer = new ArrayBuffer(1024);
    expect(await run(openPool(), { do: 'byte-length', buffer }, { transferList: [buffer] })).toBe(1024);
    expect(buffer.byteLength).toBe(0);
  });

  it('that throws rejects with the same name, code, cause and stack, and its thread goes on', async () => {
    const pool = openPool({ threads: 1 });
    const error = await run(pool, { do: 'throw' }).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ name: 'RangeError', code: 'TOO_FAR', cause: { message: 'the reason' } });
    expect((error as Error).stack).toContain('testing.thread');
    expect(await run(pool, { do: 'echo', value: 1 })).toBe(1);
    expect(pool.metrics()).toMatchObject({ queued: 2, processed: 1, failed: 1 });
  });

  it('that fails on a file keeps the code of the system', async () => {
    await expect(run(openPool(), { do: 'read-missing-file' })).rejects.toMatchObject({
      code: 'ENOENT',
      path: '/no/such/file',
    });
  });

  it('that throws undefined rejects with an error', async () => {
    await expect(run(openPool(), { do: 'throw-undefined' })).rejects.toThrow('the task threw undefined');
  });

  it('that cannot be copied to a thread is refused with the cure', async () => {
    const pool = openPool({ threads: 1 });
    await expect(run(pool, { do: 'echo', value: () => 1 })).rejects.toMatchObject({
      code: 'TASK_NOT_CLONEABLE',
    });
    expect(await run(pool, { do: 'echo', value: 1 })).toBe(1);
  });
});

describe('the pool', () => {
  it.each([0, -2, 0.5])('refuses %p threads', (threads) => {
    expect(() => createPool({ threads })).toThrow(
      expect.objectContaining({ code: 'INVALID_POOL_OPTION', option: 'threads', found: threads }),
    );
  });

  it('refuses tasks beyond its queue, and takes them again when there is room', async () => {
    const pool = openPool({ threads: 1, maxQueue: 1, name: 'hash' });
    const held = heldTask();
    const running = run(pool, held.task);
    const queued = run(pool, { do: 'echo', value: 1 });
    await expect(run(pool, { do: 'echo', value: 2 })).rejects.toMatchObject({
      code: 'POOL_FULL',
      pool: 'hash',
      capacity: 1,
    });
    held.release();
    expect(await Promise.all([running, queued])).toEqual(['finished', 1]);
    expect(await run(pool, { do: 'echo', value: 3 })).toBe(3);
  });

  it('runs tasks on all threads at once and keeps the others for later', async () => {
    const pool = openPool({ threads: 2 });
    const held = [heldTask(), heldTask(), heldTask()] as const;
    const running = held.map(({ task }) => run(pool, task));
    await Promise.all([eventually(held[0].hasStarted), eventually(held[1].hasStarted)]);
    expect(pool.metrics()).toMatchObject({ active: 2, waiting: 1 });
    expect(held[2].hasStarted()).toBe(false);
    held.forEach(({ release }) => release());
    expect(await Promise.all(running)).toEqual(['finished', 'finished', 'finished']);
  });

  it('exports its figures under its name', async () => {
    const metrics = new Metrics();
    const pool = openPool({ metrics, name: 'hash' });
    await run(pool, { do: 'echo', value: 1 });
    await run(pool, { do: 'throw' }).catch(() => {});
    const text = await metrics.text();
    expect(text).toContain('millrace_pool_queued_total{pool="hash"} 2');
    expect(text).toContain('millrace_pool_processed_total{pool="hash"} 1');
    expect(text).toContain('millrace_pool_failed_total{pool="hash"} 1');
    expect(text).toContain('millrace_pool_active{pool="hash"} 0');
  });
});
