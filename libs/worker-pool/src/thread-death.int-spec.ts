import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually, guardLeaks, withTempFolder } from '#testing';
import { closePools, heldTask, openPool, run } from '../testing/threads.js';
import type { TestingTask } from '../testing/testing.thread.js';
import type { ThreadPool } from './thread-pool.js';

afterEach(closePools);
guardLeaks();

describe('a thread that dies', () => {
  const deaths: [string, TestingTask, RegExp][] = [
    ['exits', { do: 'exit', code: 3 }, /exited with code: 3/],
    ['exits with 0', { do: 'exit', code: 0 }, /exited with code: 0/],
    ['runs out of memory', { do: 'exhaust-memory' }, /memory limit/],
    ['throws outside its task', { do: 'throw-later' }, /thrown outside the task/],
    ['returns what cannot be copied', { do: 'return-function' }, /could not be cloned/],
  ];

  it.each(deaths)('because it %s rejects its own task only, and is replaced', async (_how, task, reason) => {
    const pool = openPool({ name: 'hash', resourceLimits: { maxOldGenerationSizeMb: 32 } });
    const other = heldTask();
    const untouched = run(pool, other.task);
    await eventually(other.hasStarted);
    const error = await run(pool, task).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: 'THREAD_DIED', pool: 'hash' });
    expect((error as Error).message).toMatch(reason);
    expect(await run(pool, { do: 'echo', value: 1 })).toBe(1);
    expect(pool.alive).toBe(2);
    other.release();
    expect(await untouched).toBe('finished');
    expect(pool.metrics()).toMatchObject({ processed: 2, failed: 1, active: 0 });
  });

  it('again and again lets the rest of the queue through', async () => {
    const pool = openPool();
    const tasks = Array.from({ length: 40 }, (_, i): TestingTask =>
      i % 8 === 0 ? { do: 'exit', code: 1 } : { do: 'echo', value: i },
    );
    const outcomes = await Promise.allSettled(tasks.map((task) => run(pool, task)));
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'died'))).toEqual(
      tasks.map((task) => (task.do === 'echo' ? task.value : 'died')),
    );
  });

  it('as soon as it starts rejects its tasks instead of leaving them waiting for ever', async () => {
    const pool = openPool({ resourceLimits: { maxOldGenerationSizeMb: 1, maxYoungGenerationSizeMb: 1 } });
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map((value) => run(pool, { do: 'echo', value })));
    expect(outcomes).toMatchObject(Array(4).fill({ status: 'rejected', reason: { code: 'THREAD_DIED' } }));
  });
});

describe('a thread file', () => {
  const withFile = (text: string, use: (pool: ThreadPool) => Promise<void>): Promise<void> =>
    withTempFolder(async (folder) => {
      const path = join(folder, 'x.thread.mjs');
      await writeFile(path, text);
      await use(openPool({ file: pathToFileURL(path) }));
    });

  it('that fails to load fails the start and every task with its own error', () =>
    withFile('throw new Error("no such codec");', async (pool) => {
      await expect(pool.start()).rejects.toThrow('no such codec');
      expect(pool.alive).toBe(0);
      await expect(pool.run(1)).rejects.toThrow('no such codec');
    }));

  it('without a handler says what is missing', () =>
    withFile('export const handler = 1;', async (pool) => {
      await expect(pool.run(1)).rejects.toThrow(/export its handler as default/);
    }));

  it('that ends the thread while it loads rejects every task', () =>
    withFile('process.exit(5);', async (pool) => {
      const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map((task) => pool.run(task)));
      expect(outcomes).toMatchObject(Array(5).fill({ status: 'rejected', reason: { code: 'THREAD_DIED' } }));
    }));
});
