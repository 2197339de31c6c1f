import type { Metrics } from '#service';

/** What the locks of a process report. Keys are not labels: there may be as many as there are roots. */
export function lockMetrics(metrics: Metrics, held: () => number) {
  metrics.gauge({
    name: 'millrace_leases_held',
    help: 'Leases held now.',
    collect: (gauge) => gauge.set(held()),
  });
  const counter = <L extends string = never>(name: `millrace_${string}`, help: string, ...labels: L[]) =>
    metrics.counter({ name, help, labels });
  return {
    acquired: counter('millrace_leases_acquired_total', 'Leases acquired.'),
    refused: counter(
      'millrace_leases_refused_total',
      'Acquisitions that ended without a lease: held by another, no majority of lock nodes or no fence to be had, or given up by the caller.',
      'reason',
    ),
    renewed: counter('millrace_leases_renewed_total', 'Lease renewals.'),
    lost: counter('millrace_leases_lost_total', 'Leases lost against the will of their holder.', 'reason'),
    holdSeconds: metrics.histogram({
      name: 'millrace_lease_hold_seconds',
      help: 'Time from the acquisition of a lease to its release or loss.',
      buckets: [0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000],
    }),
    fenced: counter('millrace_fenced_writes_refused_total', 'Writes refused because their fence was stale.'),
  };
}

export type LockMetrics = ReturnType<typeof lockMetrics>;
