import { jobIdOf, type Position, type UnconfirmedEvent, type UnconfirmedEvents } from '#outbox';
import type { QueueManager } from '#queue-manager';
import { Loop, type Logger, type Service } from '#service';
import { confirmWaitMs } from './pacing.js';
import type { PublisherMetrics } from './publisher.metrics.js';

export interface ConfirmationOptions {
  events: UnconfirmedEvents;
  queues: Pick<QueueManager, 'getQueue' | 'deadLetters' | 'runId'>;
  metrics: PublisherMetrics;
  logger: Logger;
  timeoutMs: number;
  intervalMs: number;
  onOffered: () => void;
}

const PAGE = 500;

/**
 * Makes good what Redis lost after it had acknowledged it. Walks through the published events that no inbox has, a page a
 * round: those received since are settled; those overdue, or all when Redis was restarted or their queue is empty, are
 * looked for in Redis; those found nowhere are offered to the publishers again under the same id.
 *
 * Several publishers may walk at the same time: an event offered again twice is still one job and one effect.
 */
export class Confirmation implements Service {
  readonly name = 'confirmation';
  private readonly loop: Loop;
  private position: Position | undefined;
  private runId: string | undefined;
  /** On the walk after a restart of Redis (or ours: nobody watched it until then), nothing is believed to be there. */
  private suspectAll = false;

  constructor(private readonly options: ConfirmationOptions) {
    const { logger, intervalMs } = options;
    this.loop = new Loop({
      name: this.name,
      logger,
      idleMs: intervalMs,
      maxBackoffMs: 5_000,
      tick: () => this.tick(),
    });
  }

  start(): Promise<void> {
    return this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** One page. Returns whether there may be more at once. */
  async tick(): Promise<boolean> {
    await this.noticeRestart();
    const page = await this.options.events.page(this.position, PAGE);
    await this.examine(page);
    this.position = page.length === PAGE ? page.at(-1) : undefined;
    if (!this.position) this.suspectAll = false;
    return this.position !== undefined;
  }

  private async examine(page: readonly UnconfirmedEvent[]): Promise<void> {
    if (page.length === 0) return;
    const { events } = this.options;
    // The counts come before the inbox: what left the queue by then is in the inbox when that is read, or lost.
    const empty = await this.emptyQueues(page);
    const settled = await events.settle(page.map(({ id }) => id));
    const suspects = page.filter((event) => !settled.has(event.id) && this.isSuspect(event, empty));
    await this.offerAgain(await this.missing(suspects));
  }

  private isSuspect(event: UnconfirmedEvent, emptyQueues: ReadonlySet<string>): boolean {
    return (
      this.suspectAll ||
      emptyQueues.has(event.queue) ||
      event.ageMs > confirmWaitMs(event.republished, this.options.timeoutMs)
    );
  }

  private async missing(suspects: readonly UnconfirmedEvent[]): Promise<UnconfirmedEvent[]> {
    const missing: UnconfirmedEvent[] = [];
    for (const [queue, events] of byQueue(suspects)) {
      const jobIds = events.map(({ id }) => jobIdOf(id));
      const present = await this.options.queues.getQueue(queue).existing(jobIds);
      missing.push(...events.filter(({ id }) => !present.has(jobIdOf(id))));
    }
    return missing;
  }

  private async offerAgain(missing: readonly UnconfirmedEvent[]): Promise<void> {
    if (missing.length === 0) return;
    const { events, queues, metrics, logger, onOffered } = this.options;
    const received = await events.settleByPayload(missing.map(({ id }) => id));
    const lost: UnconfirmedEvent[] = [];
    for (const [queue, group] of byQueue(missing.filter(({ id }) => !received.has(id)))) {
      const jobIds = new Set(group.map(({ id }) => jobIdOf(id)));
      const deadLettered = await queues.deadLetters.contains(queue, jobIds);
      lost.push(...group.filter(({ id }) => !deadLettered.has(jobIdOf(id))));
    }
    const offered = await events.offerAgain(lost);
    if (offered === 0) return;
    metrics.offeredAgain(offered);
    logger.warn(
      { events: offered },
      'Redis lost published events; they are published again under the same ids',
    );
    onOffered();
  }

  private async noticeRestart(): Promise<void> {
    const runId = await this.options.queues.runId();
    if (runId === this.runId) return;
    if (this.runId !== undefined)
      this.options.logger.warn('Redis was restarted or replaced; looking for what it lost');
    this.runId = runId;
    this.suspectAll = true;
    this.position = undefined;
  }

  private async emptyQueues(page: readonly UnconfirmedEvent[]): Promise<Set<string>> {
    const empty = new Set<string>();
    for (const queue of byQueue(page).keys()) {
      if ((await this.options.queues.getQueue(queue).unfinished()) === 0) empty.add(queue);
    }
    return empty;
  }
}

function byQueue(events: readonly UnconfirmedEvent[]): Map<string, UnconfirmedEvent[]> {
  const groups = new Map<string, UnconfirmedEvent[]>();
  for (const event of events) {
    const group = groups.get(event.queue);
    if (group) group.push(event);
    else groups.set(event.queue, [event]);
  }
  return groups;
}
