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
    return this.once(spec, (base) => new Counter(base));
  }

  /** A gauge that is set by its owner, or read by `collect` at scrape time. */
  gauge<L extends string = never>(
    spec: MetricSpec<L> & { collect?: (gauge: Gauge<L>) => void | Promise<void> },
  ): Gauge<L> {
    return this.once(spec, (base) => {
      const gauge: Gauge<L> = new Gauge({ ...base, collect: () => spec.collect?.(gauge) });
      return gauge;
    });
  }

  histogram<L extends string = never>(spec: MetricSpec<L> & { buckets?: number[] }): Histogram<L> {
    const { buckets } = spec;
    return this.once(spec, (base) => new Histogram({ ...base, ...(buckets && { buckets }) }));
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
    const labels = ['app', 'version', 'node'] as const;
    const gauge = this.gauge({ name: 'millrace_build_info', help: 'Which build runs here.', labels });
    gauge.set({ app, version: VERSION, node: process.version }, 1);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  private once<L extends string, M>(
    { name, help, labels = [] }: MetricSpec<L>,
    create: (base: { name: string; help: string; labelNames: L[]; registers: Registry[] }) => M,
  ): M {
    const existing = this.registry.getSingleMetric(name) as M | undefined;
    return existing ?? create({ name, help, labelNames: [...labels], registers: [this.registry] });
  }
}
