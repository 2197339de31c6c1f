import { Inject, Injectable } from '@nestjs/common';
import { Database } from '#database';
import { outboxCounts, type MarkedEvent, type OutboxCounts } from '#outbox';
import { CLOCK, Metrics, type Clock } from '#service';

const FRESH_MS = 5_000;
const EMPTY: OutboxCounts = { pending: 0, dead: 0, unconfirmed: 0, oldestPendingAgeMs: 0 };
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];

/** The figures of the publisher. What the tables hold is read at scrape time, at most every few seconds. */
@Injectable()
export class PublisherMetrics {
  readonly dead;
  readonly republished;
  readonly purged;
  private readonly published;
  private readonly failures;
  private readonly latency;
  private counts: Promise<OutboxCounts> = Promise.resolve(EMPTY);
  private countedAt = -Infinity;

  constructor(
    metrics: Metrics,
    private readonly database: Database,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    const counter = <L extends string = never>(event: string, help: string, ...labels: L[]) =>
      metrics.counter({ name: `millrace_outbox_${event}_total`, help, labels });
    this.published = counter('published', 'Events published and marked.', 'queue');
    this.failures = counter(
      'publish_failures',
      'Publications that failed: refused by the queue, hit by an outage, or published but not marked.',
      'reason',
    );
    this.dead = counter('dead', 'Events given up.');
    this.republished = counter('republished', 'Events offered again because Redis had lost them.');
    this.purged = counter('purged', 'Events removed after their retention.');
    this.latency = metrics.histogram({
      name: 'millrace_outbox_publish_latency_seconds',
      help: 'From the append of an event to its mark as published.',
      buckets: LATENCY_BUCKETS,
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

  private gauges(metrics: Metrics): void {
    const gauge = (figure: string, help: string, pick: (counts: OutboxCounts) => number): void => {
      const collect = async (own: { set(value: number): void }): Promise<void> =>
        own.set(pick(await this.current()));
      metrics.gauge({ name: `millrace_outbox_${figure}`, help, collect });
    };
    gauge('pending', 'Events waiting to be published.', ({ pending }) => pending);
    gauge('dead', 'Events given up, waiting for a person.', ({ dead }) => dead);
    gauge('unconfirmed', 'Published events that no inbox has yet.', (counts) => counts.unconfirmed);
    gauge(
      'oldest_pending_age_seconds',
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
      this.counts = outboxCounts(this.database).catch(() => last);
    }
    return this.counts;
  }
}
