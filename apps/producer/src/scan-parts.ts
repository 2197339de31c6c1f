import type { Work } from '#database';
import type { Lease } from '#locking';
import type { JobQueue } from '#queue-manager';
import type { Clock, Logger, Metrics } from '#service';
import type { ThreadPool } from '#worker-pool';
import type { HashRows } from './hashing/hash.repository.js';
import type { ListingRules } from '#tree';
import type { ProducerConfig } from './producer.config.js';
import type { FileRows } from './registration/files.repository.js';
import type { FolderRows } from './registration/folders.repository.js';
import type { QueueableRows } from './registration/queueable.repository.js';
import type { RemovalRows } from './registration/removals.repository.js';
import type { ScanRows } from './registration/scans.repository.js';

/** What a scan is made of. */
export interface ScanParts {
  config: ProducerConfig;
  root: Buffer;
  lease: Lease;
  rules: ListingRules;
  workerId: string;
  rows: {
    files: FileRows;
    folders: FolderRows;
    scans: ScanRows;
    removals: RemovalRows;
    queueable: QueueableRows;
    hashes: HashRows;
  };
  /** A transaction under the lease. Its work uses only the manager it is given: nothing within it joins. */
  write: <T>(work: Work<T>) => Promise<T>;
  /** Closed by the scan. */
  threads: ThreadPool;
  queue: Pick<JobQueue, 'enqueue'>;
  /** Of the scan and the jobs it makes. */
  trace: string;
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  signal: AbortSignal;
}
