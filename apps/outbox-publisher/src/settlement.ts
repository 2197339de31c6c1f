import type { ClaimedEvent, EventClaims } from '#outbox';
import { faultPoint, type Logger } from '#service';
import type { Publication, Refusal } from './event-broker.js';
import type { PublisherConfig } from './outbox-publisher.config.js';
import { afterRefusal } from './pacing.js';
import type { PublisherMetrics } from './publisher.metrics.js';

const LOGGED_REFUSALS = 10;
const LOGGED_IDS = 100;

/** Writes down what became of published events. Every write is conditional on the claim of `holder`. */
export class Settlement {
  constructor(
    private readonly config: PublisherConfig,
    private readonly claims: EventClaims,
    private readonly metrics: PublisherMetrics,
    private readonly logger: Logger,
    private readonly holder: string,
  ) {}

  async record({ published, refused, unsent }: Publication): Promise<void> {
    await this.markPublished(published);
    await this.recordRefusals(refused);
    this.metrics.failed('outage', unsent.length);
    await this.handBack(unsent);
  }

  handBack(events: readonly ClaimedEvent[]): Promise<void> {
    return this.claims.release(this.holder, idsOf(events));
  }

  private async markPublished(events: readonly ClaimedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { metrics, logger } = this;
    logger.debug(
      { event_ids: idsOf(events).slice(0, LOGGED_IDS), events: events.length },
      'events published',
    );
    try {
      await faultPoint('publisher.after-publish');
      const { CONFIRMED_QUEUES: queues = [this.config.ANALYSIS_QUEUE] } = this.config;
      const marked = await this.claims.markPublishedIfClaimed(this.holder, idsOf(events), queues);
      metrics.markedPublished(marked);
      const lost = events.length - marked.length;
      if (lost > 0)
        logger.warn({ events: lost }, 'claims lost before the mark; published again under the same ids');
      await faultPoint('publisher.after-mark');
    } catch (error) {
      metrics.failed('not-marked', events.length);
      logger.fatal(
        { err: error, critical: true, event_ids: idsOf(events).slice(0, LOGGED_IDS), events: events.length },
        'CRITICAL: published events could not be marked; they will be published again under the same ids',
      );
      throw error;
    }
  }

  private async recordRefusals(refused: readonly Refusal[]): Promise<void> {
    if (refused.length === 0) return;
    this.metrics.failed('refused', refused.length);
    this.logRefusals(refused);
    const { EVENT_ATTEMPTS: attempts, EVENT_BACKOFF_MS: baseMs, EVENT_MAX_BACKOFF_MS: maxMs } = this.config;
    const failures = refused.map(({ event, error }) => ({
      id: event.id,
      error: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
      delayMs: afterRefusal(event.attempts, error, { attempts, baseMs, maxMs }),
    }));
    const dead = await this.claims.recordFailures(this.holder, failures);
    if (dead.length === 0) return;
    this.metrics.dead.inc(dead.length);
    this.logger.error(
      { event_ids: dead.slice(0, LOGGED_IDS), events: dead.length },
      'events given up as DEAD; requeue them in dlq-admin when the cause is gone',
    );
  }

  private logRefusals(refused: readonly Refusal[]): void {
    for (const { event, error } of refused.slice(0, LOGGED_REFUSALS))
      this.logger.error(
        { err: error, event_id: event.id, queue: event.queue, attempt: event.attempts + 1 },
        'event was not published: the queue refused it',
      );
    const more = refused.length - LOGGED_REFUSALS;
    if (more > 0) this.logger.error({ events: more }, 'more events were refused in this round');
  }
}

function idsOf(events: readonly ClaimedEvent[]): string[] {
  return events.map(({ id }) => id);
}
