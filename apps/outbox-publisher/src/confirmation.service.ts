import { Inject, Injectable } from '@nestjs/common';
import { Database } from '#database';
import { jobIdOf, UnconfirmedEvents, type Position, type UnconfirmedEvent } from '#outbox';
import { QueueManager } from '#queue-manager';
import { LOGGER, Loop, type Logger } from '#service';
import { PublisherConfig } from './outbox-publisher.config.js';
import { confirmWaitMs } from './pacing.js';
import { PublisherMetrics } from './publisher.metrics.js';
import { Publisher } from './publisher.service.js';

const PAGE = 500;

/**
 * Makes good what Redis lost after it had acknowledged it. Walks through the published events that no inbox has, a page a
 * round: those received since are settled; those overdue, or all when Redis was restarted or their queue is empty, are
 * looked for in Redis; those found nowhere are offered to the publishers again under the same id.
 *
 * Several publishers may walk at the same time: an event offered again twice is still one job and one effect.
 */
@Injectable()
export class Confirmation extends Loop {
  private readonly events: UnconfirmedEvents;
  private position: Position | undefined;
  private runId: string | undefined;
  /** On the walk after a restart of Redis (or ours: nobody watched it until then), nothing is believed to be there. */
  private suspectAll = false;

  constructor(
    private readonly config: PublisherConfig,
    database: Database,
    private readonly queues: QueueManager,
    private readonly metrics: PublisherMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly publisher: Publisher,
  ) {
    super({ name: 'confirmation', logger, idleMs: config.CONFIRM_INTERVAL_MS, maxBackoffMs: 5_000 });
    this.events = new UnconfirmedEvents(database);
  }

  /** One page. Returns whether there may be more at once. */
  override async tick(): Promise<boolean> {
    await this.noticeRestart();
    const page = await this.events.page(this.position, PAGE);
    for (const queue of new Set(page.map((event) => event.queue))) {
      const events = page.filter((event) => event.queue === queue);
      await this.offerAgain(await this.lost(queue, events));
    }
    this.position = page.length === PAGE ? page.at(-1) : undefined;
    if (!this.position) this.suspectAll = false;
    return this.position !== undefined;
  }

  /** Those of one queue that have no job there, no entry in an inbox and no dead letter. */
  private async lost(queue: string, events: readonly UnconfirmedEvent[]): Promise<UnconfirmedEvent[]> {
    const jobs = this.queues.getQueue(queue);
    // The count comes before the inbox: what left the queue by then is in the inbox when that is read, or lost.
    const isEmpty = (await jobs.unfinished()) === 0;
    const settled = await this.events.settle(idsOf(events));
    const suspects = events.filter(
      (event) => !settled.has(event.id) && (this.suspectAll || isEmpty || this.isOverdue(event)),
    );
    const present = await jobs.existing(suspects.map(({ id }) => jobIdOf(id)));
    const missing = suspects.filter(({ id }) => !present.has(jobIdOf(id)));
    if (missing.length === 0) return [];
    const received = await this.events.settleByPayload(idsOf(missing));
    const unseen = missing.filter(({ id }) => !received.has(id));
    const jobIds = new Set(unseen.map(({ id }) => jobIdOf(id)));
    const deadLettered = await this.queues.deadLetters.contains(queue, jobIds);
    return unseen.filter(({ id }) => !deadLettered.has(jobIdOf(id)));
  }

  private isOverdue({ ageMs, republished }: UnconfirmedEvent): boolean {
    return ageMs > confirmWaitMs(republished, this.config.CONFIRM_TIMEOUT_MS);
  }

  private async offerAgain(lost: readonly UnconfirmedEvent[]): Promise<void> {
    const offered = await this.events.offerAgain(lost);
    if (offered === 0) return;
    this.metrics.republished.inc(offered);
    this.logger.warn(
      { events: offered },
      'Redis lost published events; they are published again under the same ids',
    );
    this.publisher.wake();
  }

  private async noticeRestart(): Promise<void> {
    const runId = await this.queues.runId();
    if (runId === this.runId) return;
    if (this.runId !== undefined)
      this.logger.warn('Redis was restarted or replaced; looking for what it lost');
    this.runId = runId;
    this.suspectAll = true;
    this.position = undefined;
  }
}

const idsOf = (events: readonly UnconfirmedEvent[]): string[] => events.map(({ id }) => id);
