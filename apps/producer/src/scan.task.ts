import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { Database, DatabaseConfig } from '#database';
import { DatabaseFences, LockService, LockUnavailableError, type Lease } from '#locking';
import { JobQueue } from '#queue-manager';
import {
  backoffMs,
  CLOCK,
  faultPoint,
  IDENTITY,
  LOGGER,
  Metrics,
  newTrace,
  recordSpan,
  sleep,
  tellParent,
  traceId,
  type Clock,
  type Identity,
  type Logger,
  type Service,
  type Task,
} from '#service';
import { FolderReader } from './folder-reader.js';
import { hashFiles } from './hashing/hashing.js';
import { enqueueLeftovers } from './file-enqueuer.js';
import { markRemoved } from './mark-removed.js';
import { ProducerConfig } from './producer.config.js';
import { ScanRefusedError } from './producer.errors.js';
import { Registrar } from './registrar.js';
import { FileRows } from './registration/files.repository.js';
import { FolderRows } from './registration/folders.repository.js';
import { ScanRows } from './registration/scans.repository.js';
import { listingRules, locateRoot } from './root.js';
import { ScanThreads } from './scan-threads.js';
import { Scan, type ScanParts } from './scan.js';
import { Walk } from './walk.js';

const ACQUIRE_BACKOFF = { baseMs: 200, maxMs: 3_000 };

/**
 * The producer's whole life: one scan of one root under its lease. A second producer of the same root says so and ends
 * well. As a part of the app it stops before its connections do, so that a scan in progress ends in order.
 */
@Injectable()
export class ScanTask implements Task, Service {
  readonly name = 'scan';
  private running: Promise<unknown> = Promise.resolve();
  // Handed on by hand: on Node 20 an ambient trace taxes every promise of the scan.
  private trace = newTrace();
  private logger: Logger;

  constructor(
    private readonly config: ProducerConfig,
    private readonly databaseConfig: DatabaseConfig,
    private readonly database: Database,
    private readonly locks: LockService,
    @InjectQueue(QUEUE.filesToBatch) private readonly queue: JobQueue,
    private readonly threads: ScanThreads,
    private readonly metrics: Metrics,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly plainLogger: Logger,
  ) {
    this.logger = plainLogger;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    await this.running.catch(() => {});
  }

  run(signal: AbortSignal): Promise<number> {
    this.trace = newTrace();
    this.logger = this.plainLogger.child({ trace_id: traceId(this.trace) });
    const run = this.scanUnderLease(signal).catch((error: unknown) => this.refused(error));
    this.running = run;
    return run;
  }

  private refused(error: unknown): number {
    if (!(error instanceof ScanRefusedError)) throw error;
    this.logger.fatal({ err: error, code: error.code }, error.message);
    tellParent({ failed: error.message });
    return error.exitCode;
  }

  private async scanUnderLease(signal: AbortSignal): Promise<number> {
    const root = locateRoot(this.config.TARGET_DIRECTORY);
    const key = root.toString();
    const lease = await this.acquire(key, signal);
    // The scan before has closed them.
    if (lease && this.threads.isClosed) await this.threads.start(signal);
    if (!lease) {
      this.logger.info(
        { root: key },
        `could not acquire lock for ${key}: another producer is scanning it; nothing to do`,
      );
      return 0;
    }
    this.logger.info(
      { root: key, fence: lease.fence },
      `lock acquired for ${key} by ${this.identity.workerId}`,
    );
    try {
      return await this.traced(key, () => this.scan(root, lease, signal));
    } finally {
      await lease.release();
    }
  }

  /** Lock nodes that do not answer are waited for, as Redis and the database are. */
  private async acquire(key: string, signal: AbortSignal): Promise<Lease | null> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.locks.acquire(key, { signal });
      } catch (error) {
        if (!(error instanceof LockUnavailableError) || signal.aborted) throw error;
        const retryMs = backoffMs(tries, ACQUIRE_BACKOFF);
        this.logger.warn(
          { err: error, root: key },
          `the lock cannot be taken now; retrying in ${retryMs} ms`,
        );
        await sleep(retryMs, signal);
      }
    }
  }

  /** The steps of a scan; 0 when it is complete, or was asked to stop and will be continued. */
  async scan(root: Buffer, lease: Lease, signal: AbortSignal): Promise<number> {
    const parts = this.parts(root, lease, signal);
    await faultPoint('producer.before-scan-row');
    const scan = await Scan.begin(parts);
    const reader = new FolderReader(parts.threads, parts.rules);
    const traversal = { scan, reader, registrar: new Registrar(scan) };
    const progress = scan.showProgress();
    try {
      await new Walk(scan, traversal).run();
      await hashFiles(scan);
      await enqueueLeftovers(scan);
      await faultPoint('producer.before-finish');
      const outcome = await markRemoved(scan);
      await scan.end(outcome, null);
      await scan.report(outcome);
      return 0;
    } catch (error) {
      return await scan.endEarly(error);
    } finally {
      progress.stop();
    }
  }

  private async traced(root: string, work: () => Promise<number>): Promise<number> {
    const attributes = { 'millrace.root': root };
    const span = { name: 'scan', self: this.trace, startedAt: this.clock.now(), attributes };
    try {
      const code = await work();
      recordSpan({ ...span, attributes: { ...attributes, 'millrace.exit_code': code } });
      return code;
    } catch (error) {
      recordSpan({ ...span, error });
      throw error;
    }
  }

  private parts(root: Buffer, lease: Lease, signal: AbortSignal): ScanParts {
    const { config, queue, trace, logger, metrics, clock, database } = this;
    const fences = new DatabaseFences(database);
    return {
      ...{ config, root, lease, queue, trace, logger, metrics, clock, signal },
      rules: listingRules(config, root, this.databaseConfig.DATABASE_URL),
      workerId: this.identity.workerId,
      rows: {
        files: new FileRows(database, config.FILES_PER_JOB),
        folders: new FolderRows(database),
        scans: new ScanRows(),
      },
      write: (work) => fences.writeIfFence(lease, work, { ambient: false }),
      threads: this.threads,
    };
  }
}
