import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { JobQueue, QueueManager } from '#queue-manager';
import { CLOCK, LOGGER, Loop, type Clock, type Logger, Metrics, type Service } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { RedrivesRepository, type Position, type Redrive } from './redrives.repository.js';

const AGE_MS = 60_000;
const EVERY_MS = 15_000;
const PAGE = 500;
const MAX_WATCHED = 20_000;

/**
 * Finds redriven file jobs that Redis has lost (flushed, failed over) and offers them again under the same id. Without it
 * such a file would stay failed with nobody to tell why. Batches need no watch: the outbox confirms those by their inbox.
 */
@Injectable()
export class RedriveWatch implements Service {
  readonly name = 'redrive watch';
  private readonly loop: Loop;
  private readonly lost;
  private position: Position | undefined;
  private watched: Redrive[] = [];

  constructor(
    private readonly redrives: RedrivesRepository,
    @InjectQueue(QUEUE.filesToBatch) private readonly jobs: JobQueue,
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.lost = metrics.counter({
      name: 'millrace_dlq_redrives_lost_total',
      help: 'Redriven jobs that Redis lost and that were offered again.',
    });
    this.loop = new Loop({ name: this.name, logger, idleMs: EVERY_MS, tick: () => this.tick() });
  }

  start(): Promise<void> {
    return this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** One round: takes up what was requeued long enough ago, drops what is settled, offers again what is lost. */
  async tick(ageMs = AGE_MS): Promise<boolean> {
    const more = await this.takeUp(ageMs);
    this.watched = await this.redrives.unsettled(this.watched);
    for (const redrive of await this.missing()) await this.offerAgain(redrive);
    return more;
  }

  private async takeUp(ageMs: number): Promise<boolean> {
    if (this.watched.length >= MAX_WATCHED) return false;
    const now = this.clock.now();
    // From the very first: a job may be lost, and this app be away, for longer than any look back.
    this.position ??= { replayedAt: 0, letterId: 0 };
    const page = await this.redrives.page(this.config.PATH_DISCOVERY_QUEUE, this.position, now - ageMs, PAGE);
    this.watched.push(...page);
    const last = page.at(-1);
    if (last) this.position = last;
    return page.length === PAGE;
  }

  /** Those with no job, while the dead-letter queue holds nothing that could be their failure. */
  private async missing(): Promise<Redrive[]> {
    if (this.watched.length === 0) return [];
    const existing = await this.jobs.existing(this.watched.map(({ jobId }) => jobId));
    const gone = this.watched.filter(({ jobId }) => !existing.has(jobId));
    if (gone.length === 0) return [];
    return (await this.queues.deadLetters.count()) > 0 ? [] : this.redrives.unsettled(gone);
  }

  private async offerAgain(redrive: Redrive): Promise<void> {
    if (!(await this.redrives.offerAgain(redrive, this.config.PATH_DISCOVERY_QUEUE, this.clock.now())))
      return;
    this.lost.inc();
    this.logger.warn(
      { letter: redrive.letterId, job_id: redrive.jobId },
      'redriven job was lost; offered again',
    );
  }
}
