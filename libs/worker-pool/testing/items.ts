// Test-only: items and pools whose moments a test decides. Used by this lib's tests, by nothing else.
import { silentLogger } from '#service';
import { Deferred, WorkerPool, type WorkerPoolOptions, type WorkItem } from '../src/worker-pool.js';

export const poolOf = (options: Partial<WorkerPoolOptions> = {}): WorkerPool =>
  new WorkerPool({ workers: 1, logger: silentLogger, ...options });

export const item = (id: string, process: WorkItem['process'] = async () => {}): WorkItem => ({
  id,
  process,
});

/** An item that starts, and ends when told. */
export class HeldItem implements WorkItem {
  readonly started = new Deferred<AbortSignal>();
  readonly release = new Deferred<void>();

  constructor(readonly id = 'held') {}

  async process(signal: AbortSignal): Promise<void> {
    this.started.resolve(signal);
    await this.release.promise;
  }
}

/** A pool of one worker that is busy and whose queue is full. */
export async function fullPool(options: Partial<WorkerPoolOptions> = {}) {
  const pool = poolOf(options);
  const busy = new HeldItem('busy');
  await pool.submit(busy);
  await busy.started.promise;
  const order: string[] = [];
  const named = (id: string): WorkItem => item(id, async () => void order.push(id));
  for (let i = 0; i < pool.capacity; i++) await pool.submit(named(`queued-${i}`));
  return { pool, busy, order, named };
}
