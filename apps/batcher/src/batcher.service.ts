import { Processor } from '@nestjs/bullmq';
import { FILE_JOB, QUEUE, type FileJob } from '#contracts';
import { JobProcessor, RetryLater, type JobContext, type QueueWorkerOptions } from '#queue-manager';
import { faultPoint } from '#service';
import { BatcherConfig } from './batcher.config.js';
import { BatcherMetrics } from './batcher.metrics.js';
import { Batching } from './batching.js';
import { Committer } from './committing/committer.js';
import type { CountedFile } from './committing/commit-unit.js';
import { Duplicates } from './duplicates.js';
import { CountedReader } from './reading/counted-reader.js';
import { FileReader } from './reading/file-reader.js';
import type { TextOutcome } from './reading/read-outcome.js';
import { isFinal, isInterruption, verdictOf, type Verdict } from './verdict.js';

// Leaves time to hand back and close within a shutdown of 5 s.
const DRAIN_MS = 1_500;
const INTERRUPTED_RETRY_MS = 1_000;
const AWAY_RETRY_MS = 10_000;

/**
 * Takes file jobs and holds each until the transaction has committed that put its file in a batch, or recorded why not.
 * A job that is delivered twice, or late, changes nothing: the commit is guarded by revision and status.
 */
@Processor(QUEUE.filesToBatch)
export class BatcherService extends JobProcessor<FileJob> {
  readonly name = 'batcher';
  protected readonly contract = FILE_JOB;

  constructor(
    private readonly config: BatcherConfig,
    private readonly reader: FileReader,
    private readonly counts: CountedReader,
    private readonly duplicates: Duplicates,
    private readonly batching: Batching,
    private readonly committer: Committer,
    private readonly told: BatcherMetrics,
  ) {
    super();
  }

  protected override workerOptions(): QueueWorkerOptions {
    return {
      concurrency: this.config.BATCHER_CONCURRENCY,
      drainMs: DRAIN_MS,
      ambientTrace: false,
      onStopping: () => this.batching.stop(),
    };
  }

  override async stop(): Promise<void> {
    await super.stop();
    this.reader.stop();
    await this.committer.stop();
  }

  async process(job: FileJob, context: JobContext): Promise<void> {
    this.batching.entered();
    try {
      await this.settle(job, context);
    } catch (error) {
      if (isInterruption(error)) throw new RetryLater(INTERRUPTED_RETRY_MS, error);
      if (context.lastAttempt || isFinal(error)) await this.recordFailure(job, error, context);
      throw error;
    } finally {
      this.batching.left();
    }
  }

  /** One file: read and count, decide, then batch it or record why not. */
  private async settle(job: FileJob, context: JobContext): Promise<void> {
    await faultPoint('batcher.after-fetch');
    const outcome = await this.counts.read(job);
    // What follows is mostly waiting for others; to wait for it one by one would give each its own batch.
    context.passed();
    await faultPoint('batcher.after-read');
    const verdict = verdictOf(job.filePath, outcome, context.lastAttempt);
    await faultPoint('batcher.after-count');
    switch (verdict.kind) {
      case 'batch':
        return this.batch(countedFile(job, verdict.text));
      case 'skip':
        return this.skip(job, verdict, context);
      case 'obsolete':
        return this.told.obsolete();
      case 'wait':
        return this.wait(job, verdict.error, context);
      case 'retry':
        throw verdict.error;
    }
  }

  private async skip(
    job: FileJob,
    verdict: Verdict & { kind: 'skip' },
    { logger }: JobContext,
  ): Promise<void> {
    await this.committer.commit({ ...verdict, ...keyOf(job), duplicateOf: null });
    const { reason, error } = verdict;
    const facts = { path: job.filePath, reason, error };
    if (error === null) logger.debug(facts, 'file skipped');
    else logger.warn(facts, 'file skipped');
  }

  /** The row says what it waits for, so that whoever waits for it to be settled need not. */
  private async wait(job: FileJob, error: Error, { logger }: JobContext): Promise<never> {
    await this.committer.commit({ kind: 'wait', ...keyOf(job) });
    logger.warn({ err: error, file_id: job.fileId, retry_ms: AWAY_RETRY_MS }, 'file waits for its folder');
    throw new RetryLater(AWAY_RETRY_MS, error);
  }

  private batch(file: CountedFile): Promise<void> {
    if (!this.config.SKIP_DUPLICATES) return this.batching.add(file);
    return this.duplicates.once(
      file,
      () => this.batching.add(file),
      (duplicateOf) =>
        this.committer.commit({
          kind: 'skip',
          reason: 'duplicate',
          error: null,
          duplicateOf,
          ...keyOf(file),
        }),
    );
  }

  /** The job fails either way; the file says so at once rather than when its dead letter is read. */
  private async recordFailure(job: FileJob, error: unknown, { logger }: JobContext): Promise<void> {
    const text = error instanceof Error ? error.message : String(error);
    try {
      await this.committer.commit({ kind: 'fail', error: text, ...keyOf(job) });
    } catch (failure) {
      logger.error({ err: failure, file_id: job.fileId }, 'the failure of a file could not be recorded');
    }
  }
}

function keyOf({ fileId, revision }: { fileId: number; revision: number }): {
  fileId: number;
  revision: number;
} {
  return { fileId, revision };
}

function countedFile(
  job: FileJob,
  { path: { text: path, bytes }, facts, tokens, parts }: TextOutcome,
): CountedFile {
  const { fileId, revision, trace } = job;
  return {
    fileId,
    revision,
    path,
    facts,
    tokens,
    parts,
    ...(bytes !== null && { pathBytes: bytes }),
    ...(trace && { trace }),
  };
}
