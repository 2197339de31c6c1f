import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { FILE_JOB, fileJobId, QUEUE, type FileJob } from '#contracts';
import { Database, FileClaims, type FileEntity } from '#database';
import { JobQueue, QueueManager } from '#queue-manager';
import {
  faultPoint,
  IDENTITY,
  LOGGER,
  Loop,
  METRICS,
  type Identity,
  type Logger,
  type Metrics,
  type Service,
} from '#service';
import { BatcherConfig } from '../batcher.config.js';
import { Strandings } from './strandings.js';
import { planSweep, SETTLE_MS, type Sweep } from './sweep-plan.js';
import { WaitingFiles } from './waiting-files.repository.js';

/**
 * Puts lost jobs back into the queue: those that were never enqueued, that Redis lost, or whose claim expired. It does not
 * process files itself, so that there is one path, with one account of attempts. Enqueueing is idempotent by job id, so
 * any number of reconcilers may run; claims keep them from doing the same work.
 */
@Injectable()
export class ReconcilerService implements Service {
  readonly name = 'reconciler';
  private readonly loop: Loop;
  private readonly claims: FileClaims;
  private readonly files: WaitingFiles;
  private readonly requeued;
  private readonly strandings = new Strandings();
  private runId: string | undefined;

  constructor(
    private readonly config: BatcherConfig,
    @InjectQueue(QUEUE.filesToBatch) private readonly jobs: JobQueue,
    private readonly queues: QueueManager,
    database: Database,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) metrics: Metrics,
  ) {
    this.claims = new FileClaims(database, logger);
    this.files = new WaitingFiles(database);
    this.requeued = metrics.counter({
      name: 'millrace_lost_jobs_total',
      help: 'Jobs of waiting files that were not in the queue and were enqueued again.',
    });
    this.loop = new Loop({
      name: this.name,
      logger,
      idleMs: config.RECOVERY_INTERVAL_MS,
      tick: (signal) => this.reconcile(signal),
    });
  }

  start(): Promise<void> {
    return this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** One look, for tests. */
  async tick(): Promise<void> {
    await this.loop.tick();
  }

  private async reconcile(signal: AbortSignal): Promise<void> {
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
    const stranded = this.strandings.look(
      await this.files.unsent(MAX_CLAIMS),
      Math.min(SETTLE_MS, RECOVERY_AGE_MS),
    );
    return planSweep(
      { redisChanged, live, stranded, ...files },
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
    const waiting = await this.jobs.existingAfterRemovingCompleted(files.map(fileJobId));
    const missing = files.filter((file) => !waiting.has(fileJobId(file)));
    const dead = await this.deadLettered(missing);
    const lost = missing.filter((file) => !dead.has(fileJobId(file)));
    await this.jobs.enqueue(
      FILE_JOB,
      lost.map((file) => ({ jobId: fileJobId(file), payload: payloadOf(file) })),
    );
    const { workerId } = this.identity;
    await this.files.endClaims(workerId, files, (file) => (dead.has(fileJobId(file)) ? 'failed' : 'pending'));
    this.requeued.inc(lost.length);
    return lost.length;
  }

  /** They failed: to enqueue such a job again as lost would run what crashed its worker over and over. */
  private async deadLettered(missing: readonly FileEntity[]): Promise<Set<string>> {
    return this.queues.deadLetters.contains(this.jobs.name, new Set(missing.map(fileJobId)));
  }
}

function payloadOf({ id, revision, path, pathBytes, size }: FileEntity): FileJob {
  return {
    filePath: path,
    fileSize: size,
    fileId: id,
    revision,
    ...(pathBytes !== null && { pathBytes }),
  };
}
