import { Inject, Injectable } from '@nestjs/common';
import { Database, DatabaseConfig } from '#database';
import { DatabaseFences, type Lease } from '#locking';
import { QueueManager } from '#queue-manager';
import {
  CLOCK,
  IDENTITY,
  LOGGER,
  METRICS,
  newTrace,
  traceId,
  type Clock,
  type Identity,
  type Logger,
  type Metrics,
} from '#service';
import { HashRows } from './hashing/hash.repository.js';
import { ProducerConfig } from './producer.config.js';
import { FileRows } from './registration/files.repository.js';
import { FolderRows } from './registration/folders.repository.js';
import { QueueableRows } from './registration/queueable.repository.js';
import { RemovalRows } from './registration/removals.repository.js';
import { ScanRows } from './registration/scans.repository.js';
import { listingRules } from './root.js';
import { Scan } from './scan.js';
import type { ScanParts } from './scan-parts.js';
import { ScanThreads } from './scan-threads.js';

/** Puts a scan together from the parts of the app. */
@Injectable()
export class ScanFactory {
  constructor(
    private readonly config: ProducerConfig,
    private readonly databaseConfig: DatabaseConfig,
    private readonly database: Database,
    private readonly queues: QueueManager,
    private readonly threads: ScanThreads,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  create(root: Buffer, lease: Lease, signal: AbortSignal, trace = newTrace()): Scan {
    const fences = new DatabaseFences(this.database);
    const rules = listingRules(this.config, root, this.databaseConfig.DATABASE_URL);
    const { config, queues, metrics, clock } = this;
    return new Scan({
      config,
      root,
      lease,
      rules,
      workerId: this.identity.workerId,
      rows: this.rows(),
      write: (work) => fences.writeIfFence(lease, work, { ambient: false }),
      threads: this.threads.pool,
      queues,
      trace,
      logger: this.logger.child({ trace_id: traceId(trace) }),
      metrics,
      clock,
      signal,
    });
  }

  private rows(): ScanParts['rows'] {
    return {
      files: new FileRows(),
      folders: new FolderRows(this.database),
      scans: new ScanRows(),
      removals: new RemovalRows(),
      queueable: new QueueableRows(this.database),
      hashes: new HashRows(this.database),
    };
  }
}
