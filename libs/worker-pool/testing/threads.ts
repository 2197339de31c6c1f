// Test-only: thread pools over testing.thread.ts, and a task whose moments a test decides. Used by this lib's tests.
import { silentLogger } from '#service';
import type { TestingTask } from './testing.thread.js';
import { threadFile } from '../src/thread-file.js';
import { ThreadPool, type RunOptions, type ThreadPoolOptions } from '../src/thread-pool.js';

const file = threadFile(import.meta.url, './testing.thread.js');
const opened: ThreadPool[] = [];

export const createPool = (options: Partial<ThreadPoolOptions> = {}): ThreadPool =>
  new ThreadPool({ file, threads: 2, logger: silentLogger, ...options });

/** A pool that `closePools` closes. */
export function openPool(options: Partial<ThreadPoolOptions> = {}): ThreadPool {
  const pool = createPool(options);
  opened.push(pool);
  return pool;
}

export async function closePools(): Promise<void> {
  await Promise.all(opened.splice(0).map((pool) => pool.stop()));
}

export const run = (pool: ThreadPool, task: TestingTask, options?: RunOptions): Promise<unknown> =>
  pool.run(task, options);

/** A task that keeps its thread busy until it is aborted or released. */
export function heldTask({ cooperative = true } = {}) {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  return {
    task: { do: 'work', gate, cooperative } satisfies TestingTask,
    hasStarted: () => Atomics.load(gate, 0) > 0,
    release: () => {
      Atomics.store(gate, 1, 1);
      Atomics.notify(gate, 1);
    },
  };
}
