import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import { VERSION } from './version.js';

interface MetricSpec<L extends string> {
  name: `millrace_${string}`;
  help: string;
  labels?: readonly L[];
}

/**
 * The metrics of one process. A name is created once; asking again returns the same metric, so parts that exist
 * several times (workers, queues) share one metric and tell themselves apart by label.
 */
export class Metrics {
  readonly registry = new Registry();

  counter<L extends string = never>(spec: MetricSpec<L>): Counter<L> {
    return this.once(spec.name, () => new Counter({ ...this.base(spec), name: spec.name }));
  }

  /** A gauge that is set by its owner, or read by `collect` at scrape time. */
  gauge<L extends string = never>(
    spec: MetricSpec<L> & { collect?: (gauge: Gauge<L>) => void | Promise<void> },
  ): Gauge<L> {
    const { collect } = spec;
    return this.once(
      spec.name,
      () =>
        new Gauge({
          ...this.base(spec),
          name: spec.name,
          ...(collect && {
            collect(this: Gauge<L>) {
              return collect(this);
            },
          }),
        }),
    );
  }

  histogram<L extends string = never>(spec: MetricSpec<L> & { buckets?: number[] }): Histogram<L> {
    return this.once(
      spec.name,
      () =>
        new Histogram({
          ...this.base(spec),
          name: spec.name,
          ...(spec.buckets && { buckets: spec.buckets }),
        }),
    );
  }

  /** Adds what every process reports: CPU, memory, event-loop lag, handles, under the names that stock dashboards know. */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.registry });
    // Gauges under the name of a counter; their twins without `_total` tell the same by type.
    for (const kind of ['handles', 'requests', 'resources'])
      this.registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }

  /** Which build of which app this is, as labels of a gauge that is always 1: to be joined with the others. */
  tellBuild(app: string): void {
    const labels = { app, version: VERSION, node: process.version };
    this.gauge({
      name: 'millrace_build_info',
      help: 'Which build runs here.',
      labels: ['app', 'version', 'node'],
    }).set(labels, 1);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  private base<L extends string>(
    spec: MetricSpec<L>,
  ): { help: string; labelNames: L[]; registers: Registry[] } {
    return { help: spec.help, labelNames: [...(spec.labels ?? [])], registers: [this.registry] };
  }

  private once<M>(name: string, create: () => M): M {
    return (this.registry.getSingleMetric(name) as M | undefined) ?? create();
  }
}
