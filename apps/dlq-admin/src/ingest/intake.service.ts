import { Processor } from '@nestjs/bullmq';
import { Inject } from '@nestjs/common';
import { DEAD_LETTER, QUEUE, type DeadLetter } from '#contracts';
import { Database, errorKind } from '#database';
import { ANY_PAYLOAD, done, JobProcessor, QueueManager, retryAfter } from '#queue-manager';
import type { JobContext, JobOutcome, QueueWorkerOptions } from '#queue-manager';
import { Coalescer, faultPoint, IDENTITY, LOGGER, Loop, Metrics, systemClock, tellDone } from '#service';
import type { Identity, Logger } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { takeIn } from './intake.repository.js';
import { draftOf, setAsideOf, strangerOf, type Found, type LetterDraft } from './letter-draft.js';

// As many as one write takes: what a crash leaves in the hands of a dead process is tried one by one afterwards.
const CONCURRENCY = 200;
const MAX_LETTERS = 200;
const GATHER_MS = 15;
const RETRY_MS = 1_000;
const RESCUE_EVERY_MS = 5_000;
const RESCUE_PAGE = 200;
const TRIES = 2;
const MAX_FAILURES = 10_000;

/**
 * Moves dead letters from Redis to the database. A job completes only after the transaction with its letter has
 * committed; a letter delivered twice is stored once; while the database is away the jobs wait in Redis.
 */
@Processor(QUEUE.deadLetter)
export class Intake extends JobProcessor<unknown> {
  readonly name = 'dead-letter intake';
  protected readonly contract = ANY_PAYLOAD;
  private readonly letters: Coalescer<LetterDraft, void>;
  private readonly taken;
  private readonly rescuer: Loop;
  private readonly failures = new Map<string, number>();

  constructor(
    private readonly queues: QueueManager,
    private readonly database: Database,
    private readonly config: DlqAdminConfig,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super();
    this.taken = metrics.counter({
      name: 'millrace_dlq_letters_taken_in_total',
      help: 'Dead letters taken in from the queue.',
      labels: ['outcome'],
    });
    this.letters = new Coalescer({
      work: (drafts) => this.store(drafts),
      limit: MAX_LETTERS,
      gatherMs: GATHER_MS,
      blames: (error) => errorKind(error) === 'other',
    });
    const name = 'dead-letter rescue';
    this.rescuer = new Loop({ name, logger, idleMs: RESCUE_EVERY_MS, tick: () => this.rescue() });
  }

  protected override workerOptions(): QueueWorkerOptions {
    return { concurrency: CONCURRENCY };
  }

  override async start(): Promise<void> {
    await super.start();
    await this.rescuer.start();
  }

  override async stop(): Promise<void> {
    await this.rescuer.stop();
    await super.stop();
  }

  /**
   * Takes in letters whose own job was given up or put off. When a process dies, each job in its hands is suspected of
   * having killed it and tried alone, later; a dead letter does nothing but be stored, so it is stored from where it
   * waits, and its job removed. Storing twice is storing once, so a job that runs meanwhile does no harm.
   */
  async rescue(): Promise<boolean> {
    const letters = await this.queues.deadLetters.setAside(RESCUE_PAGE);
    const rescued = await Promise.allSettled(
      letters.map(async ({ data, jobId, remove }) => {
        await this.takeOrSetAside(data, jobId);
        return remove();
      }),
    );
    const count = rescued.filter((one) => one.status === 'fulfilled' && one.value).length;
    if (count > 0) this.logger.warn({ count }, 'dead letters taken in whose own job was given up or put off');
    return count > 0 && letters.length >= RESCUE_PAGE;
  }

  async process(data: unknown, job: JobContext): Promise<JobOutcome> {
    try {
      await this.takeOrSetAside(data, job.jobId);
      return done;
    } catch (error) {
      const facts = { err: error, job_id: job.jobId };
      this.logger.warn(facts, 'dead letter not stored yet; it waits in the queue');
      return retryAfter(RETRY_MS, error);
    }
  }

  /** A letter that is at fault itself has two tries; then it is out of the way of the others. */
  private async takeOrSetAside(data: unknown, jobId: string): Promise<void> {
    try {
      const isLetter = DEAD_LETTER.faultsOf(data).length === 0;
      const letter = isLetter ? DEAD_LETTER.parse(data) : strangerOf(data, this.found(jobId));
      await this.add(letter);
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
    const asideQueue = `${this.queues.settings.deadLetterQueue}-set-aside`;
    await this.queues.enqueueJobs(asideQueue, ANY_PAYLOAD, [{ jobId, payload: data }]);
    this.failures.delete(jobId);
    this.taken.inc({ outcome: 'set aside' });
    this.logger.error({ err: error, job_id: jobId, queue: asideQueue }, 'dead letter set aside, as it is');
    await this.add(setAsideOf(data, error, { ...this.found(jobId), asideQueue })).catch((cause: unknown) =>
      this.logger.error({ err: cause, job_id: jobId }, 'no letter tells of it'),
    );
  }

  private found(jobId: string): Found {
    const queue = this.queues.settings.deadLetterQueue;
    return { queue, jobId, workerId: this.identity.workerId, now: systemClock.now() };
  }

  private add(letter: DeadLetter): Promise<void> {
    return this.letters.add(draftOf(letter, this.config.REDACT_PATHS));
  }

  private async store(drafts: readonly LetterDraft[]): Promise<void> {
    const queues = { files: this.config.PATH_DISCOVERY_QUEUE, batches: this.config.ANALYSIS_QUEUE };
    const report = await this.database.inTransaction((tx) => takeIn(tx, drafts, queues));
    await faultPoint('dlq-admin.intake-after-commit');
    const { added, reopened, duplicates, failed } = report;
    tellDone({ letters: added + reopened, failed });
    for (const [outcome, count] of Object.entries({ added, reopened, duplicate: duplicates }))
      this.taken.inc({ outcome }, count);
    this.logger.info({ ...report }, 'dead letters taken in');
  }
}
