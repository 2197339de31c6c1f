import { InjectQueue, Processor } from '@nestjs/bullmq';
import { FILE_JOB, fileJobId, filesOf, isList, QUEUE, type FileJob, type JobFile } from '#contracts';
import { Database, RegisteredFiles, type FileStatus, type RegisteredFile } from '#database';
import {
  done,
  giveUp,
  JobProcessor,
  JobQueue,
  retryAfter,
  type EnqueueOptions,
  type JobContext,
  type JobOutcome,
  type QueueWorkerOptions,
} from '#queue-manager';
import { Coalescer, faultPoint, isTracing } from '#service';
import { Accumulator } from './accumulator.js';
import { BatcherConfig } from './batcher.config.js';
import { PoisonFileError } from './batcher.errors.js';
import { BatcherMetrics } from './batcher.metrics.js';
import type { CountedFile, FileKey } from './committing/commit-unit.js';
import { Duplicates } from './duplicates.js';
import { HeldFiles, type HeldFile } from './held-files.js';
import { FileReader, type FileToRead } from './reading/file-reader.js';
import type { ReadOutcome, TextOutcome } from './reading/read-outcome.js';
import { retryMs, verdictOf, type Verdict } from './verdict.js';

// Leaves time to hand back and close within a shutdown of 5 s.
const DRAIN_MS = 1_500;
// Locks of all held jobs are renewed together, every few seconds.
const MAX_JOBS = 2_000;
// A job may hold hundreds of paths. To run one again does nothing, so few need be remembered.
const KEEP_COMPLETED = 1_000;
const FILES_PER_QUERY = 2_000;
const UNSETTLED: readonly FileStatus[] = ['pending', 'processing', 'failed'];

/** A file whose row wants it read, and where. */
interface Located {
  file: HeldFile;
  place: FileToRead;
}

/**
 * Takes jobs of one or many files and holds each until transactions have committed that put its files in batches, or
 * recorded why not. A job that is delivered twice, or late, changes nothing: the commit is guarded by revision and status.
 * A file of many that has to be tried again leaves as a job of its own, with its own attempts and its own dead letter.
 */
@Processor(QUEUE.filesToBatch)
export class BatcherService extends JobProcessor<FileJob> {
  readonly name = 'batcher';
  protected readonly contract = FILE_JOB;

  /** The rows of jobs that come together are asked for together. */
  private readonly rows: Coalescer<readonly number[], Map<number, RegisteredFile>>;

  constructor(
    private readonly config: BatcherConfig,
    database: Database,
    private readonly reader: FileReader,
    private readonly duplicates: Duplicates,
    private readonly accumulator: Accumulator,
    @InjectQueue(QUEUE.filesToBatch) private readonly jobs: JobQueue,
    private readonly told: BatcherMetrics,
  ) {
    super();
    const rows = new RegisteredFiles(database);
    this.rows = new Coalescer({
      work: async (lists) => {
        const found = await rows.find(lists.flat());
        return lists.map(() => found);
      },
      weigh: ({ length }) => length,
      limit: FILES_PER_QUERY,
      blames: () => false,
    });
  }

  protected override workerOptions(): QueueWorkerOptions<FileJob> {
    const capacity = this.config.BATCHER_CONCURRENCY;
    return {
      concurrency: Math.min(MAX_JOBS, capacity),
      capacity,
      weigh: (data) => (isList(data) && Array.isArray(data.files) ? data.files.length : 1),
      keepCompleted: KEEP_COMPLETED,
      drainMs: DRAIN_MS,
      ambientTrace: false,
      onStopping: () => this.accumulator.drain(),
      divide: (job, context) => (isList(job) ? () => this.divide(job, context) : undefined),
    };
  }

  override async stop(): Promise<void> {
    await super.stop();
    this.reader.stop();
    await this.accumulator.stop();
  }

  async process(job: FileJob, context: JobContext): Promise<JobOutcome> {
    const held = new HeldFiles(filesOf(job));
    this.accumulator.entered(held.files.length);
    await this.settle(job, held, context).catch((error: unknown) => held.failRest(error));
    this.accumulator.decided(held.files.length);
    await held.ended;
    return held.failures.length > 0 ? this.conclude(job, held.failures, context) : done;
  }

  /** The steps: load rows, read and count, decide, then pack each file or record why not. */
  private async settle(job: FileJob, held: HeldFiles, context: JobContext): Promise<void> {
    await faultPoint('batcher.after-fetch');
    const files = await this.load(job, held.files, context);
    const outcomes = await this.reader.read(
      files.map(({ place }) => place),
      async () => {
        await context.begin();
        await faultPoint('batcher.after-begin');
      },
    );
    // What follows is mostly waiting for others; to wait for it one by one would give each its own batch.
    context.passed();
    await faultPoint('batcher.after-read');
    const lastAttempt = context.lastAttempt && !isList(job);
    const verdicts = files.map(({ place }, at) =>
      verdictOf(place.path.text, outcomes[at] as ReadOutcome, lastAttempt),
    );
    await faultPoint('batcher.after-count');
    files.forEach((file, at) => this.carryOut(verdicts[at] as Verdict, file, context));
  }

  /** The files that their rows still want of this job, each with its place; the others are done with. */
  private async load(job: FileJob, held: readonly HeldFile[], { jobId }: JobContext): Promise<Located[]> {
    const rows = await this.rows.add(held.map(({ file }) => file.fileId));
    const shared = isList(job);
    const files: Located[] = [];
    for (const file of held) {
      const { fileId, revision, fileSize: size } = file.file;
      const row = rows.get(fileId);
      const open = row?.revision === revision && !row.removed && UNSETTLED.includes(row.status);
      // A file that has left a list has another job.
      if (!open || (shared && row.jobId !== jobId)) file.done();
      else {
        const { root, path, followLinks, folderIdentity } = row;
        files.push({ file, place: { root, path, followLinks, folderIdentity, size } });
      }
    }
    if (files.length < held.length) this.told.obsolete(held.length - files.length);
    return files;
  }

  private carryOut(verdict: Verdict, { file: held, place }: Located, context: JobContext): void {
    switch (verdict.kind) {
      case 'batch': {
        const file = countedFile(held.file, place, verdict.text, context.trace);
        return this.config.SKIP_DUPLICATES
          ? settledBy(this.duplicates.sendOnce(file), held)
          : this.accumulator.add(file, held);
      }
      case 'skip':
        return settledBy(this.skip(held.file, verdict, context), held);
      case 'wait':
        return settledBy(this.wait(held.file, verdict.error, context), held);
      case 'retry':
        return held.fail(verdict.error);
    }
  }

  private async skip(
    file: JobFile,
    { reason, error }: Verdict & { kind: 'skip' },
    { logger }: JobContext,
  ): Promise<void> {
    await this.accumulator.commit({ kind: 'skip', files: [file], reason, error });
    const facts = { path: file.filePath, reason, error };
    if (error === null) logger.debug(facts, 'file skipped');
    else logger.warn(facts, 'file skipped');
  }

  /** The row says what it waits for, so that whoever waits for it to be settled need not. */
  private async wait(file: JobFile, error: Error, { logger }: JobContext): Promise<never> {
    await this.accumulator.commit({ kind: 'wait', files: [file] });
    logger.warn({ err: error, file_id: file.fileId, retry_ms: retryMs(error) }, 'file waits for its folder');
    throw error;
  }

  /**
   * What is not at fault stays and is tried with its job again, for which what was settled is settled. What has used up an
   * attempt fails with its own job, or leaves for one.
   */
  private async conclude(
    job: FileJob,
    failures: HeldFiles['failures'],
    context: JobContext,
  ): Promise<JobOutcome> {
    const waits = failures.flatMap(({ error }) => retryMs(error) ?? []);
    const failed = failures.filter(({ error }) => retryMs(error) === undefined);
    if (isList(job))
      await this.leave(
        failed.map(({ file }) => file),
        job.trace,
        { tried: context.attempt },
      );
    else if (failed[0]) return this.failAlone(failed[0].file, failed[0].error, context);
    return waits.length > 0 ? retryAfter(Math.min(...waits)) : done;
  }

  private async failAlone(file: JobFile, error: unknown, context: JobContext): Promise<JobOutcome> {
    const poison = error instanceof PoisonFileError;
    if (context.lastAttempt || poison) await this.recordFailure(file, error, context);
    if (poison) return giveUp(error, 'crash');
    throw error;
  }

  /** The job fails either way; the file says so at once rather than when its dead letter is read. */
  private async recordFailure(file: JobFile, error: unknown, { logger }: JobContext): Promise<void> {
    const text = error instanceof Error ? error.message : String(error);
    try {
      await this.accumulator.commit({ kind: 'fail', files: [file], error: text });
    } catch (failure) {
      logger.error({ err: failure, file_id: file.fileId }, 'the failure of a file could not be recorded');
    }
  }

  /** A worker died or froze with this job. Each file gets a job of its own, so that the one that did it is found. */
  private async divide(job: FileJob, context: JobContext): Promise<JobOutcome> {
    try {
      const { files } = new HeldFiles(filesOf(job));
      const wanted = await this.load(job, files, context);
      await this.leave(
        wanted.map(({ file }) => file.file),
        job.trace,
        { suspect: true },
      );
      return done;
    } catch (error) {
      const delayMs = retryMs(error);
      if (delayMs === undefined) throw error;
      return retryAfter(delayMs);
    }
  }

  /**
   * First the rows say that the files have left, then their jobs are enqueued, then this job ends. After a crash in between
   * the job finds them gone, and recovery finds the jobs missing that their rows name.
   */
  private async leave(
    files: readonly JobFile[],
    trace: string | undefined,
    how: Pick<EnqueueOptions, 'tried' | 'suspect'>,
  ): Promise<void> {
    if (files.length === 0) return;
    await this.accumulator.commit({ kind: 'leave', files });
    await faultPoint('batcher.after-leave');
    await this.jobs.enqueue(
      FILE_JOB,
      files.map((file) => ({
        jobId: fileJobId({ id: file.fileId, revision: file.revision }),
        payload: { ...file, ...(trace && { trace }) },
        ...how,
      })),
    );
    await faultPoint('batcher.after-divide');
  }
}

function settledBy(work: Promise<void>, held: HeldFile): void {
  work.then(
    () => held.done(),
    (error: unknown) => held.fail(error),
  );
}

function countedFile(
  { fileId, revision }: FileKey,
  { path }: FileToRead,
  { facts, tokens, parts }: TextOutcome,
  trace: string | undefined,
): CountedFile {
  const counted: CountedFile = { fileId, revision, path: path.text, facts, tokens, parts };
  if (path.bytes !== null) counted.pathBytes = path.bytes;
  if (trace) counted.trace = trace;
  if (isTracing()) counted.countedAt = Date.now();
  return counted;
}
