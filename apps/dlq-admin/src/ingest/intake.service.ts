import { Inject, Injectable } from '@nestjs/common';
import { DEAD_LETTER } from '#contracts';
import { Database, errorKind } from '#database';
import { ANY_PAYLOAD, QueueManager, RetryLater, type JobContext, type QueueWorker } from '#queue-manager';
import { RedisConfig } from '#redis';
import {
  faultPoint,
  IDENTITY,
  LOGGER,
  Loop,
  METRICS,
  systemClock,
  type Health,
  type Identity,
  type Logger,
  type Metrics,
  type Service,
} from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { Collector } from './collector.js';
import { takeIn } from './intake.repository.js';
import { draftOf, draftOfSetAside, draftOfStranger, type LetterDraft } from './letter-draft.js';

// As many as one write takes: what a crash leaves in the hands of a dead process is tried one by one afterwards.
const CONCURRENCY = 200;
const MAX_LETTERS = 200;
const LINGER_MS = 15;
const RETRY_MS = 1_000;
const RESCUE_EVERY_MS = 5_000;
const RESCUE_PAGE = 200;
const TRIES = 2;
const MAX_FAILURES = 10_000;

/**
 * Moves dead letters from Redis to the database. A job completes only after the transaction with its letter has
 * committed; a letter delivered twice is stored once; while the database is away the jobs wait in Redis.
 */
@Injectable()
export class Intake implements Service {
  readonly name = 'dead-letter intake';
  private readonly collector: Collector<LetterDraft>;
  private readonly taken: ReturnType<Intake['counter']>;
  private readonly rescuer: Loop;
  private readonly failures = new Map<string, number>();
  private worker: QueueWorker<unknown> | undefined;

  constructor(
    private readonly queues: QueueManager,
    private readonly database: Database,
    private readonly redis: RedisConfig,
    private readonly config: DlqAdminConfig,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) metrics: Metrics,
  ) {
    this.taken = this.counter(metrics);
    this.collector = new Collector({
      write: (drafts) => this.store(drafts),
      max: MAX_LETTERS,
      lingerMs: LINGER_MS,
      isItemsFault: (error) => errorKind(error) === 'other',
    });
    this.rescuer = new Loop({
      name: 'dead-letter rescue',
      logger,
      idleMs: RESCUE_EVERY_MS,
      tick: () => this.rescue(),
    });
  }

  async start(): Promise<void> {
    this.worker ??= this.queues.createWorker(
      this.redis.DLQ_NAME,
      ANY_PAYLOAD,
      (data, job) => this.take(data, job),
      {
        concurrency: CONCURRENCY,
        onStopping: () => this.collector.flush(),
      },
    );
    await this.worker.start();
    await this.rescuer.start();
  }

  async stop(): Promise<void> {
    await this.rescuer.stop();
    await this.worker?.stop();
  }

  health(): Health {
    return this.worker?.health() ?? { status: 'down', reason: 'not started' };
  }

  liveness(): Health {
    return this.worker?.liveness() ?? { status: 'up' };
  }

  /**
   * Takes in letters whose own job was given up or put off. When a process dies, each job in its hands is suspected of
   * having killed it and tried alone, later; a dead letter does nothing but be stored, so it is stored from where it
   * waits, and its job removed. Storing twice is storing once, so a job that runs meanwhile does no harm.
   */
  async rescue(): Promise<boolean> {
    const queue = this.queues.getQueue(this.redis.DLQ_NAME);
    const ids = await queue.getRanges(['failed', 'delayed'], 0, RESCUE_PAGE - 1, true);
    const rescued = await Promise.allSettled(
      ids.map(async (id) => {
        const job = await queue.getJob(id).catch(() => undefined);
        if (!job) return false;
        await this.takeOrSetAside(job.data, id);
        return job.remove().then(
          () => true,
          () => false,
        );
      }),
    );
    const count = rescued.filter((one) => one.status === 'fulfilled' && one.value).length;
    if (count > 0) this.logger.warn({ count }, 'dead letters taken in whose own job was given up or put off');
    return count > 0 && ids.length >= RESCUE_PAGE;
  }

  private async take(data: unknown, job: JobContext): Promise<void> {
    try {
      await this.takeOrSetAside(data, job.jobId);
    } catch (error) {
      this.logger.warn(
        { err: error, job_id: job.jobId },
        'dead letter not stored yet; it waits in the queue',
      );
      throw new RetryLater(RETRY_MS, error);
    }
  }

  /** A letter that is at fault itself has two tries; then it is out of the way of the others. */
  private async takeOrSetAside(data: unknown, jobId: string): Promise<void> {
    try {
      await this.collector.add(this.draft(data, jobId));
      this.failures.delete(jobId);
    } catch (error) {
      if (errorKind(error) !== 'other') throw error;
      const failures = (this.failures.get(jobId) ?? 0) + 1;
      if (this.failures.size >= MAX_FAILURES) this.failures.clear();
      this.failures.set(jobId, failures);
      if (failures < TRIES) throw error;
      await this.setAside(data, jobId, error);
    }
  }

  /** Keeps the job as it is in a queue that nobody reads, and tells of it by a letter, if that can be stored. */
  private async setAside(data: unknown, jobId: string, error: unknown): Promise<void> {
    const asideQueue = `${this.redis.DLQ_NAME}-set-aside`;
    await this.queues.enqueueJobs(asideQueue, ANY_PAYLOAD, [{ jobId, payload: data }]);
    this.failures.delete(jobId);
    this.taken.inc({ outcome: 'set aside' });
    this.logger.error({ err: error, job_id: jobId, queue: asideQueue }, 'dead letter set aside, as it is');
    const draft = draftOfSetAside(data, error, { ...this.facts(jobId), asideQueue });
    await this.collector
      .add(draft)
      .catch((cause: unknown) => this.logger.error({ err: cause, job_id: jobId }, 'no letter tells of it'));
  }

  private facts(jobId: string): { queue: string; jobId: string; workerId: string; now: number } {
    return { queue: this.redis.DLQ_NAME, jobId, workerId: this.identity.workerId, now: systemClock.now() };
  }

  private draft(data: unknown, jobId: string): LetterDraft {
    const options = { redactPaths: this.config.REDACT_PATHS };
    if (DEAD_LETTER.faultsOf(data).length === 0) return draftOf(DEAD_LETTER.parse(data), options);
    return draftOfStranger(data, this.facts(jobId), options);
  }

  private async store(drafts: readonly LetterDraft[]): Promise<void> {
    const queues = { files: this.config.PATH_DISCOVERY_QUEUE, batches: this.config.ANALYSIS_QUEUE };
    const report = await this.database.inTransaction((tx) => takeIn(tx, drafts, queues));
    await faultPoint('dlq-admin.intake-after-commit');
    this.taken.inc({ outcome: 'added' }, report.added);
    this.taken.inc({ outcome: 'reopened' }, report.reopened);
    this.taken.inc({ outcome: 'duplicate' }, report.duplicates);
    this.logger.info({ ...report }, 'dead letters taken in');
  }

  private counter(metrics: Metrics) {
    return metrics.counter({
      name: 'millrace_dlq_letters_taken_in_total',
      help: 'Dead letters taken in from the queue.',
      labels: ['outcome'],
    });
  }
}
