import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { Database, DatabaseConfig } from '#database';
import { DatabaseFences, LockService, type Lease } from '#locking';
import { JobQueue } from '#queue-manager';
import {
  CLOCK,
  IDENTITY,
  LOGGER,
  Metrics,
  newTrace,
  recordSpan,
  tellParent,
  traceId,
  type Clock,
  type Identity,
  type Logger,
  type Service,
  type Task,
} from '#service';
import { HashRows } from './hashing/hash.repository.js';
import { ProducerConfig } from './producer.config.js';
import { ScanRefusedError } from './producer.errors.js';
import { FileRows } from './registration/files.repository.js';
import { FolderRows } from './registration/folders.repository.js';
import { QueueableRows } from './registration/queueable.repository.js';
import { RemovalRows } from './registration/removals.repository.js';
import { ScanRows } from './registration/scans.repository.js';
import { listingRules, locateRoot } from './root.js';
import type { ScanParts } from './scan-parts.js';
import { ScanThreads } from './scan-threads.js';
import { runScan } from './scan.js';

/**
 * The producer's whole life: one scan of one root under its lease. A second producer of the same root says so and ends
 * well. As a part of the app it is the first to stop, so that a scan in progress ends before its connections do.
 */
@Injectable()
export class ScanTask implements Task, Service {
  readonly name = 'scan';
  private running: Promise<unknown> = Promise.resolve();
  // Handed on by hand: on Node 20 an ambient trace taxes every promise of the scan.
  private readonly trace = newTrace();
  private readonly logger: Logger;

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
    @Inject(LOGGER) logger: Logger,
  ) {
    this.logger = logger.child({ trace_id: traceId(this.trace) });
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    await this.running.catch(() => {});
  }

  run(signal: AbortSignal): Promise<number> {
    const run = this.runGuarded(signal);
    this.running = run;
    return run;
  }

  private async runGuarded(signal: AbortSignal): Promise<number> {
    try {
      return await this.scanUnderLease(signal);
    } catch (error) {
      if (!(error instanceof ScanRefusedError)) throw error;
      this.logger.fatal({ err: error, code: error.code }, error.message);
      tellParent({ failed: error.message });
      return error.exitCode;
    }
  }

  private async scanUnderLease(signal: AbortSignal): Promise<number> {
    const root = locateRoot(this.config.TARGET_DIRECTORY);
    const key = root.toString();
    const lease = await this.locks.acquire(key, { signal });
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
    const span = {
      name: 'scan',
      self: this.trace,
      startedAt: this.clock.now(),
      attributes: { 'millrace.root': key },
    };
    try {
      const code = await runScan(this.parts(root, lease, signal));
      recordSpan({ ...span, attributes: { ...span.attributes, 'millrace.exit_code': code } });
      return code;
    } catch (error) {
      recordSpan({ ...span, error });
      throw error;
    } finally {
      await lease.release();
    }
  }

  /** What a scan of the root is made of. */
  parts(root: Buffer, lease: Lease, signal: AbortSignal): ScanParts {
    const { config, queue, trace, logger, metrics, clock, database } = this;
    const fences = new DatabaseFences(database);
    return {
      ...{ config, root, lease, queue, trace, logger, metrics, clock, signal },
      rules: listingRules(config, root, this.databaseConfig.DATABASE_URL),
      workerId: this.identity.workerId,
      rows: {
        files: new FileRows(config.FILES_PER_JOB),
        folders: new FolderRows(database),
        scans: new ScanRows(),
        removals: new RemovalRows(),
        queueable: new QueueableRows(database, config.FILES_PER_JOB),
        hashes: new HashRows(database),
      },
      write: (work) => fences.writeIfFence(lease, work, { ambient: false }),
      threads: this.threads.pool,
    };
  }
}
