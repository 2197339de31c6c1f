import type { Metrics } from '#service';

/** What the locks of a process report. Keys are not labels: there may be as many as there are roots. */
export function lockMetrics(metrics: Metrics, held: () => number) {
  metrics.gauge({
    name: 'millrace_leases_held',
    help: 'Leases held now.',
    collect: (gauge) => gauge.set(held()),
  });
  return {
    acquired: metrics.counter({
      name: 'millrace_leases_acquired_total',
      help: 'Leases acquired.',
    }),
    refused: metrics.counter({
      name: 'millrace_leases_refused_total',
      help: 'Acquisitions that ended without a lease: held by another, no majority of lock nodes or no fence to be had, or given up by the caller.',
      labels: ['reason'],
    }),
    renewed: metrics.counter({ name: 'millrace_leases_renewed_total', help: 'Lease renewals.' }),
    lost: metrics.counter({
      name: 'millrace_leases_lost_total',
      help: 'Leases lost against the will of their holder.',
      labels: ['reason'],
    }),
    holdSeconds: metrics.histogram({
      name: 'millrace_lease_hold_seconds',
      help: 'Time from the acquisition of a lease to its release or loss.',
      buckets: [0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000],
    }),
    fenced: metrics.counter({
      name: 'millrace_fenced_writes_refused_total',
      help: 'Writes refused because their fence was stale.',
    }),
  };
}

export type LockMetrics = ReturnType<typeof lockMetrics>;
