import { Metrics, silentLogger } from '#service';
import type { DatabaseFences } from '../src/database-fences.js';
import { LockService, type LockServiceOptions } from '../src/lock.service.js';

type Given = Partial<LockServiceOptions> & Pick<LockServiceOptions, 'urls'>;

/** A lock service for tests, with its metrics at hand. Unless given: a lease of 30 s, fences in memory. */
export function lockService(given: Given): { locks: LockService; metrics: Metrics } {
  const metrics = new Metrics();
  const locks = new LockService({
    keyPrefix: 'test-lock:',
    leaseMs: 30_000,
    renewalIntervalMs: 10_000,
    workerId: 'worker-1',
    fences: new MemoryFences(),
    logger: silentLogger,
    metrics,
    // Generous for a loaded machine; tests of slow nodes set their own.
    nodeTimeoutMs: 5_000,
    ...given,
  });
  return { locks, metrics };
}

/** The value of a metric, 0 when it has none yet. */
export async function metricValue(metrics: Metrics, name: string, labels: object = {}): Promise<number> {
  const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  const wanted = Object.entries(labels);
  const match = values.find((value) =>
    wanted.every(([key, label]) => (value.labels as Record<string, unknown>)[key] === label),
  );
  return match?.value ?? 0;
}

/** Fences for one process without a database: benchmarks, and tests that are not about fencing. */
export class MemoryFences implements Pick<DatabaseFences, 'issue'> {
  private readonly last = new Map<string, number>();

  issue(key: string): Promise<number> {
    const fence = (this.last.get(key) ?? 0) + 1;
    this.last.set(key, fence);
    return Promise.resolve(fence);
  }
}
