import type { Metrics } from '#service';

/** At any moment: queued = waiting + active + processed + failed + abandoned. */
export interface PoolMetrics {
  /** Items ever accepted into the queue. */
  readonly queued: number;
  /** Items in the queue now, not started. */
  readonly waiting: number;
  /** Items running now. */
  readonly active: number;
  readonly processed: number;
  readonly failed: number;
  /** Accepted, but given up unfinished because the pool stopped or the caller aborted. */
  readonly abandoned: number;
}

export type Outcome = 'processed' | 'failed' | 'abandoned';

/** The figures of one pool, and their copies in the process's metrics under the pool's label. */
export class PoolCounts {
  private readonly total = { queued: 0, processed: 0, failed: 0, abandoned: 0 };
  private readonly exported: ReturnType<typeof exportCounts> | undefined;

  constructor(
    pool: string,
    metrics: Metrics | undefined,
    private readonly active: () => number,
  ) {
    this.exported = metrics && exportCounts(pool, metrics);
  }

  count(what: 'queued' | Outcome): void {
    this.total[what]++;
    this.exported?.[what].inc();
    this.show();
  }

  /** Copies what is the case now. */
  show(): void {
    if (!this.exported) return;
    const { waiting, active } = this.read();
    this.exported.waiting.set(waiting);
    this.exported.active.set(active);
  }

  read(): PoolMetrics {
    const { queued, processed, failed, abandoned } = this.total;
    const active = this.active();
    return { ...this.total, waiting: queued - processed - failed - abandoned - active, active };
  }
}

function exportCounts(pool: string, metrics: Metrics) {
  const labels = ['pool'] as const;
  const counter = (name: keyof PoolMetrics, help: string) =>
    metrics.counter({ name: `millrace_pool_${name}_total`, help, labels }).labels(pool);
  const gauge = (name: keyof PoolMetrics, help: string) =>
    metrics.gauge({ name: `millrace_pool_${name}`, help, labels }).labels(pool);
  return {
    queued: counter('queued', 'Items accepted into the queue of a pool'),
    processed: counter('processed', 'Items that a pool finished successfully'),
    failed: counter('failed', 'Items that failed in a pool'),
    abandoned: counter('abandoned', 'Items given up because a pool stopped or their caller aborted'),
    waiting: gauge('waiting', 'Items in the queue of a pool now'),
    active: gauge('active', 'Items running in a pool now'),
  };
}
