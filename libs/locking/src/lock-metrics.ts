import type { Metrics } from '#service';
import type { LossReason } from './locking.errors.js';

/** What the locks of a process report. Keys are not labels: there may be as many as there are roots. */
export class LockMetrics {
  private readonly acquiredTotal;
  private readonly refusedTotal;
  private readonly renewedTotal;
  private readonly lostTotal;
  private readonly holdSeconds;
  private readonly fencedTotal;

  constructor(metrics: Metrics, held: () => number) {
    metrics.gauge({
      name: 'millrace_leases_held',
      help: 'Leases held now.',
      collect: (gauge) => gauge.set(held()),
    });
    this.acquiredTotal = metrics.counter({
      name: 'millrace_leases_acquired_total',
      help: 'Leases acquired.',
    });
    this.refusedTotal = metrics.counter({
      name: 'millrace_leases_refused_total',
      help: 'Acquisitions that ended without a lease: held by another, no majority of lock nodes or no fence to be had, or given up by the caller.',
      labels: ['reason'],
    });
    this.renewedTotal = metrics.counter({ name: 'millrace_leases_renewed_total', help: 'Lease renewals.' });
    this.lostTotal = metrics.counter({
      name: 'millrace_leases_lost_total',
      help: 'Leases lost against the will of their holder.',
      labels: ['reason'],
    });
    this.holdSeconds = metrics.histogram({
      name: 'millrace_lease_hold_seconds',
      help: 'Time from the acquisition of a lease to its release or loss.',
      buckets: [0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000],
    });
    this.fencedTotal = metrics.counter({
      name: 'millrace_fenced_writes_refused_total',
      help: 'Writes refused because their fence was stale.',
    });
  }

  acquired(): void {
    this.acquiredTotal.inc();
  }

  refused(reason: 'held' | 'unavailable' | 'aborted'): void {
    this.refusedTotal.inc({ reason });
  }

  renewed(): void {
    this.renewedTotal.inc();
  }

  released(heldMs: number): void {
    this.holdSeconds.observe(heldMs / 1_000);
  }

  lost(reason: LossReason, heldMs: number): void {
    this.lostTotal.inc({ reason });
    this.released(heldMs);
  }

  fenced(): void {
    this.fencedTotal.inc();
  }
}
