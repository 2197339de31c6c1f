import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { EventClaims, type ClaimedEvent } from '#outbox';
import { QueueManager } from '#queue-manager';
import { backoffMs, CLOCK, down, faultPoint, IDENTITY, LOGGER, Loop, UP, within } from '#service';
import type { Clock, Health, Identity, Logger } from '#service';
import { EventBroker, type Publication, type Refusal } from './event-broker.js';
import { PublisherConfig } from './outbox-publisher.config.js';
import { afterRefusal, idleWaitMs } from './pacing.js';
import { PublisherMetrics } from './publisher.metrics.js';

// Within the time that a shutdown may take: what is not through by then is handed back.
const STOP_GRACE_MS = 2_000;
const OUTAGE_BACKOFF = { baseMs: 250, maxMs: 5_000 };
const WEDGED_MS = 60_000;
const LOGGED_REFUSALS = 10;
const LOGGED_IDS = 100;

/**
 * Claims due events, publishes them, marks them. A committed event is published at least once, always under the same job
 * id: what was published but not marked (crash, lost claim, database away) is published again, and the consumer's inbox
 * makes its effect happen once. `stop` finishes the round and hands back what is claimed but not published.
 */
@Injectable()
export class Publisher extends Loop {
  private readonly broker: EventBroker;
  private readonly holder: string;
  /** Claimed while the batch before is published, so that database and broker work at the same time. */
  private ahead: Promise<ClaimedEvent[]> | undefined;
  private settling: Promise<void> = Promise.resolve();
  private outage: { failures: number; until: number } | undefined;
  private lastRoundAt: number;

  constructor(
    private readonly config: PublisherConfig,
    private readonly claims: EventClaims,
    queues: QueueManager,
    private readonly metrics: PublisherMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDENTITY) { workerId }: Identity,
  ) {
    const idleMs = (rounds: number): number => idleWaitMs(rounds, config.POLLING_INTERVAL_MS);
    super({ name: 'publisher', logger, idleMs, maxBackoffMs: 5_000 });
    this.broker = new EventBroker(queues);
    // Two processes may be given one name; their claims must not be confused even then.
    this.holder = `${workerId}-${randomBytes(4).toString('hex')}`;
    this.lastRoundAt = clock.monotonic();
  }

  override start(): Promise<void> {
    this.lastRoundAt = this.clock.monotonic();
    return super.start();
  }

  override async stop(): Promise<void> {
    await super.stop();
    await this.settling.catch(() => {});
    await this.handBackAhead();
  }

  health(): Health {
    const silentMs = Math.round(this.clock.monotonic() - this.lastRoundAt);
    return silentMs > WEDGED_MS ? down(`no round has ended for ${silentMs} ms`) : UP;
  }

  /** One round: claim, publish, settle. Returns whether there may be more at once. */
  override async tick(signal: AbortSignal = new AbortController().signal): Promise<boolean> {
    try {
      if (this.outage && this.clock.monotonic() < this.outage.until) return false;
      const events = await this.nextEvents();
      if (events.length === 0) return false;
      if (events.length === this.config.BATCH_SIZE && !signal.aborted) this.claimAhead();
      const publication = await this.publish(events, signal);
      await this.settleBehind(publication);
      // All that was due is claimed, but for what did not fit and for the next of each key.
      const mayBeMore =
        events.length === this.config.BATCH_SIZE || events.some(({ orderingKey }) => orderingKey !== null);
      return !publication.outage && mayBeMore;
    } finally {
      this.lastRoundAt = this.clock.monotonic();
    }
  }

  private async nextEvents(): Promise<ClaimedEvent[]> {
    const ahead = this.ahead ?? this.claim();
    this.ahead = undefined;
    const events = await ahead;
    this.logger.debug({ events: events.length }, events.length > 0 ? 'events claimed' : 'no pending events');
    await faultPoint('publisher.after-claim');
    // A failed mark of the round before is this round's failure, also when there is nothing more to do.
    if (events.length === 0) await this.settling;
    return events;
  }

  private claim(): Promise<ClaimedEvent[]> {
    const { BATCH_SIZE: limit, CLAIM_LEASE_MS: leaseMs } = this.config;
    return this.claims.claim({ holder: this.holder, limit, leaseMs });
  }

  private claimAhead(): void {
    this.ahead = this.claim();
    this.ahead.catch(() => {});
  }

  private async publish(events: ClaimedEvent[], signal: AbortSignal): Promise<Publication> {
    const publication = this.broker.publish(events);
    await untilAborted(publication, signal);
    const outage = new Error('the publisher stops');
    return within(STOP_GRACE_MS, publication, () => ({ published: [], refused: [], unsent: events, outage }));
  }

  /** Records the outcome, beside the next round when its events are claimed; never falls more than one round behind. */
  private async settleBehind(publication: Publication): Promise<void> {
    this.noteOutage(publication);
    const previous = this.settling;
    this.settling = this.record(publication);
    this.settling.catch(() => {});
    await previous;
    if (publication.outage) await this.handBackAhead();
    if (!this.ahead) await this.settling;
  }

  private async handBackAhead(): Promise<void> {
    const ahead = this.ahead;
    this.ahead = undefined;
    try {
      await this.handBack((await ahead) ?? []);
    } catch (error) {
      this.logger.warn({ err: error }, 'claims not handed back; they end with their lease');
    }
  }

  /** Writes down what became of events. Every write is conditional on the claim of `holder`. */
  private async record({ published, refused, unsent }: Publication): Promise<void> {
    await this.markPublished(published);
    await this.recordRefusals(refused);
    this.metrics.failed('outage', unsent.length);
    await this.handBack(unsent);
  }

  private handBack(events: readonly ClaimedEvent[]): Promise<void> {
    return this.claims.release(this.holder, idsOf(events));
  }

  private async markPublished(events: readonly ClaimedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { metrics, logger } = this;
    const facts = loggable(idsOf(events));
    logger.debug(facts, 'events published');
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
        { err: error, critical: true, ...facts },
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
    const cure = 'requeue them in dlq-admin when the cause is gone';
    this.logger.error(loggable(dead), `events given up as DEAD; ${cure}`);
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

  /** One line when the broker goes and one when it is back, however many rounds it takes. */
  private noteOutage({ outage, unsent }: Publication): void {
    const { logger, clock } = this;
    const failures = this.outage?.failures ?? 0;
    if (!outage) {
      if (failures > 0) logger.info('queue available; events are published again');
      this.outage = undefined;
      return;
    }
    if (failures === 0)
      logger.warn({ err: outage, events: unsent.length }, 'queue unavailable; events wait in the outbox');
    this.outage = {
      failures: failures + 1,
      until: clock.monotonic() + backoffMs(failures, OUTAGE_BACKOFF),
    };
  }
}

function idsOf(events: readonly ClaimedEvent[]): string[] {
  return events.map(({ id }) => id);
}

function loggable(ids: readonly string[]): { event_ids: readonly string[]; events: number } {
  return { event_ids: ids.slice(0, LOGGED_IDS), events: ids.length };
}

/** Resolves when the work is done or the signal aborts, whichever is first. */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let aborted!: () => void;
  const abortion = new Promise<void>((resolve) => (aborted = resolve));
  signal.addEventListener('abort', aborted, { once: true });
  try {
    await Promise.race([work, abortion]);
  } finally {
    signal.removeEventListener('abort', aborted);
  }
}
