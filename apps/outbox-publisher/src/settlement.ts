import type { ClaimedEvent, EventClaims } from '#outbox';
import { faultPoint, type Logger } from '#service';
import type { Publication, Refusal } from './event-broker.js';
import { afterRefusal, type RefusalPolicy } from './pacing.js';
import type { PublisherMetrics } from './publisher.metrics.js';

export interface SettlementOptions {
  claims: EventClaims;
  metrics: PublisherMetrics;
  logger: Logger;
  refusals: RefusalPolicy;
  confirmedQueues: readonly string[];
}

const LOGGED_REFUSALS = 10;
const LOGGED_IDS = 100;

/** Writes down what became of published events. Every write is conditional on the claim of `holder`. */
export class Settlement {
  constructor(
    private readonly options: SettlementOptions,
    private readonly holder: string,
  ) {}

  async record({ published, refused, unsent }: Publication): Promise<void> {
    await this.markPublished(published);
    await this.recordRefusals(refused);
    this.options.metrics.failed('outage', unsent.length);
    await this.handBack(unsent);
  }

  handBack(events: readonly ClaimedEvent[]): Promise<void> {
    return this.options.claims.release(this.holder, idsOf(events));
  }

  private async markPublished(events: readonly ClaimedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { claims, confirmedQueues, metrics, logger } = this.options;
    logger.debug(
      { event_ids: idsOf(events).slice(0, LOGGED_IDS), events: events.length },
      'events published',
    );
    try {
      await faultPoint('publisher.after-publish');
      const marked = await claims.markPublishedIfClaimed(this.holder, idsOf(events), { confirmedQueues });
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
    const { claims, metrics } = this.options;
    metrics.failed('refused', refused.length);
    this.logRefusals(refused);
    const judged = refused.map((refusal) => this.judge(refusal));
    await claims.releaseWithBackoff(
      this.holder,
      judged.flatMap((one) => (one.verdict === 'retry' ? [one] : [])),
    );
    await this.giveUp(judged.filter(({ verdict }) => verdict === 'dead'));
  }

  private judge({ event, error }: Refusal): { id: string; error: string } & ReturnType<typeof afterRefusal> {
    return {
      id: event.id,
      error: textOf(error),
      ...afterRefusal(event.attempts, error, this.options.refusals),
    };
  }

  private async giveUp(failures: readonly { id: string; error: string }[]): Promise<void> {
    const dead = await this.options.claims.markDead(this.holder, failures);
    if (dead.length === 0) return;
    this.options.metrics.gaveUp(dead.length);
    this.options.logger.error(
      { event_ids: dead.slice(0, LOGGED_IDS), events: dead.length },
      'events given up as DEAD; revive them in dlq-admin when the cause is gone',
    );
  }

  private logRefusals(refused: readonly Refusal[]): void {
    const { logger } = this.options;
    for (const { event, error } of refused.slice(0, LOGGED_REFUSALS))
      logger.error(
        { err: error, event_id: event.id, queue: event.queue, attempt: event.attempts + 1 },
        'event was not published: the queue refused it',
      );
    const more = refused.length - LOGGED_REFUSALS;
    if (more > 0) logger.error({ events: more }, 'more events were refused in this round');
  }
}

function idsOf(events: readonly ClaimedEvent[]): string[] {
  return events.map(({ id }) => id);
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
