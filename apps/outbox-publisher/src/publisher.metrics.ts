import type { MarkedEvent, OutboxCounts, OutboxStatistics } from '#outbox';
import type { Clock, Metrics } from '#service';

const FRESH_MS = 5_000;
const EMPTY: OutboxCounts = { pending: 0, dead: 0, unconfirmed: 0, oldestPendingAgeMs: 0 };

/** The figures of the publisher. What the tables hold is read at scrape time, at most every few seconds. */
export class PublisherMetrics {
  private readonly published;
  private readonly failures;
  private readonly dead;
  private readonly republished;
  private readonly purged;
  private readonly latency;
  private counts: Promise<OutboxCounts> = Promise.resolve(EMPTY);
  private countedAt = -Infinity;

  constructor(
    metrics: Metrics,
    private readonly statistics: Pick<OutboxStatistics, 'counts'>,
    private readonly clock: Clock,
  ) {
    this.published = metrics.counter({
      name: 'millrace_outbox_published_total',
      help: 'Events published and marked.',
      labels: ['queue'],
    });
    this.failures = metrics.counter({
      name: 'millrace_outbox_publish_failures_total',
      help: 'Publications that failed: refused by the queue, hit by an outage, or published but not marked.',
      labels: ['reason'],
    });
    this.dead = metrics.counter({ name: 'millrace_outbox_dead_total', help: 'Events given up.' });
    this.republished = metrics.counter({
      name: 'millrace_outbox_republished_total',
      help: 'Events offered again because Redis had lost them.',
    });
    this.purged = metrics.counter({
      name: 'millrace_outbox_purged_total',
      help: 'Events removed after their retention.',
    });
    this.latency = metrics.histogram({
      name: 'millrace_outbox_publish_latency_seconds',
      help: 'From the append of an event to its mark as published.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300],
    });
    this.gauges(metrics);
  }

  markedPublished(events: readonly MarkedEvent[]): void {
    const byQueue = new Map<string, number>();
    for (const { queue, latencyMs } of events) {
      byQueue.set(queue, (byQueue.get(queue) ?? 0) + 1);
      this.latency.observe(Math.max(0, latencyMs) / 1_000);
    }
    for (const [queue, count] of byQueue) this.published.inc({ queue }, count);
  }

  failed(reason: 'refused' | 'outage' | 'not-marked', count: number): void {
    if (count > 0) this.failures.inc({ reason }, count);
  }

  gaveUp(count: number): void {
    this.dead.inc(count);
  }

  offeredAgain(count: number): void {
    this.republished.inc(count);
  }

  purgedEvents(count: number): void {
    this.purged.inc(count);
  }

  private gauges(metrics: Metrics): void {
    const gauge = (
      name: `millrace_${string}`,
      help: string,
      pick: (counts: OutboxCounts) => number,
    ): void => {
      metrics.gauge({ name, help, collect: async (own) => own.set(pick(await this.current())) });
    };
    gauge('millrace_outbox_pending', 'Events waiting to be published.', ({ pending }) => pending);
    gauge('millrace_outbox_dead', 'Events given up, waiting for a person.', ({ dead }) => dead);
    gauge(
      'millrace_outbox_unconfirmed',
      'Published events that no inbox has yet.',
      (counts) => counts.unconfirmed,
    );
    gauge(
      'millrace_outbox_oldest_pending_age_seconds',
      'Age of the oldest event that should be published by now.',
      ({ oldestPendingAgeMs }) => oldestPendingAgeMs / 1_000,
    );
  }

  /** While the database is away, the last figures known. */
  private current(): Promise<OutboxCounts> {
    const now = this.clock.monotonic();
    if (now - this.countedAt >= FRESH_MS) {
      const last = this.counts;
      this.countedAt = now;
      this.counts = this.statistics.counts().catch(() => last);
    }
    return this.counts;
  }
}
