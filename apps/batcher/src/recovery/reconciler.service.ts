import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { FILE_JOB, fileJobId, jobOfFile, newListJobId, QUEUE, type JobFile } from '#contracts';
import { Database, FileClaims, type FileEntity } from '#database';
import { JobQueue, QueueManager } from '#queue-manager';
import {
  faultPoint,
  IDENTITY,
  isScanning,
  LOGGER,
  Loop,
  type Identity,
  type Logger,
  Metrics,
} from '#service';
import { BatcherConfig } from '../batcher.config.js';
import { OrphanedFiles } from './orphaned-files.js';
import { planSweep, SETTLE_MS, type Sweep } from './sweep-plan.js';
import { WaitingFiles } from './waiting-files.repository.js';

/**
 * Puts lost jobs back into the queue: those that were never enqueued, that Redis lost, or whose claim expired. It does not
 * process files itself, so that there is one path, with one account of attempts. Any number of reconcilers may run: claims
 * keep them from doing the same work, and a file that is brought by two jobs is settled once.
 */
@Injectable()
export class ReconcilerService extends Loop {
  private readonly claims: FileClaims;
  private readonly files: WaitingFiles;
  private readonly requeued;
  private readonly orphaned = new OrphanedFiles();
  private runId: string | undefined;

  constructor(
    private readonly config: BatcherConfig,
    @InjectQueue(QUEUE.filesToBatch) private readonly jobs: JobQueue,
    private readonly queues: QueueManager,
    database: Database,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'reconciler', logger, idleMs: config.RECOVERY_INTERVAL_MS });
    this.claims = new FileClaims(database, logger);
    this.files = new WaitingFiles(database);
    this.requeued = metrics.counter({
      name: 'millrace_lost_jobs_total',
      help: 'Waiting files whose job was not in the queue and was enqueued again.',
    });
  }

  /** One look. */
  override async tick(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const runId = await this.queues.runId();
    const sweep = await this.plan(runId !== this.runId);
    if (sweep) await this.sweep(sweep, signal);
    // Only a look that came to its end has seen what another Redis lost.
    if (!signal.aborted) this.runId = runId;
  }

  private async plan(redisChanged: boolean): Promise<Sweep | undefined> {
    const { RECOVERY_AGE_MS, MAX_CLAIMS } = this.config;
    // Time, jobs, files, in this order: a file that waits now and was enqueued by then has a job among those that were counted.
    const now = await this.files.now();
    const live = await this.jobs.unfinished();
    const files = await this.files.count(live + 1, now);
    const orphaned = this.orphaned.detect(
      await this.files.unsent(MAX_CLAIMS),
      Math.min(SETTLE_MS, RECOVERY_AGE_MS),
    );
    return planSweep(
      { redisChanged, live, orphaned, scanning: isScanning(), ...files },
      { recoveryAgeMs: RECOVERY_AGE_MS, maxClaims: MAX_CLAIMS },
    );
  }

  private async sweep({ ageMs, unsent, limit }: Sweep, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    let seen = 0;
    let lost = 0;
    while (seen < limit && !signal.aborted) {
      // Grows with the sweep, so that files which it, or another, has just seen to are not claimed again.
      const queueGraceMs = ageMs + Math.ceil(performance.now() - startedAt);
      const files = await this.claim(queueGraceMs, unsent);
      if (files.length === 0) break;
      lost += await this.restoreOrRelease(files);
      seen += files.length;
    }
    if (lost > 0) this.logger.info({ files: seen, lost }, 'enqueued files again whose jobs were lost');
  }

  private claim(queueGraceMs: number, unsent: boolean): Promise<FileEntity[]> {
    const { MAX_CLAIMS, CLAIM_LEASE_MS } = this.config;
    return this.claims.getNextFiles(this.identity.workerId, MAX_CLAIMS, {
      leaseMs: CLAIM_LEASE_MS,
      queueGraceMs,
      enqueuedOnly: !unsent,
    });
  }

  /** When Redis goes away in the middle, others need not wait for the claims to expire. */
  private async restoreOrRelease(files: readonly FileEntity[]): Promise<number> {
    try {
      return await this.restore(files);
    } catch (error) {
      const ids = files.map(({ id }) => id);
      // Without the database they expire after all; what went wrong first is what is told.
      await this.claims.release(this.identity.workerId, ids).catch(() => {});
      throw error;
    }
  }

  private async restore(files: readonly FileEntity[]): Promise<number> {
    await faultPoint('batcher.after-claim');
    // A completed job whose file waits all the same: the database was restored, or a rescan gave the file back.
    const live = await this.jobs.existingAfterRemovingCompleted([...new Set(files.map(jobOfFile))]);
    const missing = files.filter((file) => !live.has(jobOfFile(file)));
    const dead = await this.deadLettered(missing);
    const lost = missing.filter((file) => !dead.has(jobOfFile(file)));
    await this.enqueue(lost);
    const { workerId } = this.identity;
    await this.files.endClaims(workerId, files, (file) => (dead.has(jobOfFile(file)) ? 'failed' : 'pending'));
    this.requeued.inc(lost.length);
    return lost.length;
  }

  /**
   * Files that had a job of their own get it again. Those that shared one share a new one, which their rows name first: not
   * all files of the lost job need be among these, and under its old id they would hide that the others have none.
   */
  private async enqueue(lost: readonly FileEntity[]): Promise<void> {
    const alone = lost.filter(({ jobId }) => jobId === null);
    const names = new Map(lost.map(({ jobId }) => [jobId, newListJobId()]));
    const lists = new Map<string, FileEntity[]>();
    for (const file of lost) {
      const name = names.get(file.jobId) as string;
      if (file.jobId !== null) lists.set(name, [...(lists.get(name) ?? []), file]);
    }
    if (lists.size > 0) await this.files.nameJobs(this.identity.workerId, lists);
    await this.jobs.enqueue(FILE_JOB, [
      ...alone.map((file) => ({ jobId: fileJobId(file), payload: jobFile(file) })),
      ...[...lists].map(([jobId, files]) => ({ jobId, payload: { files: files.map(jobFile) } })),
    ]);
  }

  /** They failed: to enqueue such a job again as lost would run what crashed its worker over and over. */
  private async deadLettered(missing: readonly FileEntity[]): Promise<Set<string>> {
    const alone = missing.filter(({ jobId }) => jobId === null);
    return this.queues.deadLetters.contains(this.jobs.name, new Set(alone.map(fileJobId)));
  }
}

function jobFile({ id, revision, path, pathBytes, size }: FileEntity): JobFile {
  return {
    filePath: path,
    fileSize: size,
    fileId: id,
    revision,
    ...(pathBytes !== null && { pathBytes }),
  };
}
