// Test-only: scans in this process on real services, and what they left in the tables.
import { loadConfig } from '#config';
import { FILE_JOB, filesOf, jobOfFile } from '#contracts';
import { Database, DatabaseConfig, queryRows, type ScanOutcome } from '#database';
import { DatabaseFences, LockService, type Lease } from '#locking';
import { QueueManager } from '#queue-manager';
import { createLogger, Metrics, systemClock, type Logger } from '#service';
import { sharedRedis, testDatabase, type DatabaseKind, type TestDatabase } from '#testing';
import { ProducerConfig } from './producer.config.js';
import { locateRoot } from './root.js';
import { ScanTask } from './scan.task.js';
import { ScanThreads } from './scan-threads.js';
import type { ScanSummary } from './summary.js';

export interface FileRow {
  id: number;
  path: string;
  path_bytes: string | null;
  size: number;
  revision: number;
  status: string;
  skip_reason: string | null;
  error_status: string | null;
  removed: number;
  enqueued_at: number;
  last_scan_id: number;
  hash_value: string | null;
  hash_algorithm: string | null;
}

export interface FolderRow {
  path: string;
  depth: number;
  removed: number;
  error_status: string | null;
  last_scan_id: number;
  listed_scan_id: number;
}

export interface Scanned {
  summary: ScanSummary;
  outcome: ScanOutcome;
  logs: Record<string, unknown>[];
}

const QUEUE = 'files-to-batch-queue';
const IDENTITY = { app: 'producer', workerId: 'w' };
const NEVER = new AbortController().signal;

/** A producer without its process. */
export class ScanRig {
  private readonly logs: Record<string, unknown>[] = [];

  private constructor(
    readonly database: Database,
    readonly queues: QueueManager,
    readonly locks: LockService,
    private readonly store: TestDatabase,
    readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** On a database and a Redis prefix of its own. */
  static async start(kind: DatabaseKind): Promise<ScanRig> {
    const store = await testDatabase(kind);
    const { url: redisUrl, prefix } = sharedRedis();
    const logs: Record<string, unknown>[] = [];
    const stream = { write: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) };
    const logger = createLogger({ service: 'producer', workerId: 'w', level: 'info', stream });
    const metrics = new Metrics();
    const database = new Database({ url: store.url, logger, metrics });
    const queues = new QueueManager({ url: redisUrl, prefix, workerId: 'w', logger, metrics });
    const locks = new LockService({
      urls: [redisUrl],
      keyPrefix: `${prefix}:lock:`,
      leaseMs: 30_000,
      renewalIntervalMs: 10_000,
      workerId: 'w',
      fences: new DatabaseFences(database),
      logger,
      metrics,
    });
    await database.start();
    await queues.start();
    await locks.start();
    const rig = new ScanRig(database, queues, locks, store, metrics, logger);
    rig.logs.push(...logs);
    stream.write = (line) => void rig.logs.push(JSON.parse(line) as Record<string, unknown>);
    return rig;
  }

  async stop(): Promise<void> {
    await this.locks.stop();
    await this.queues.stop();
    await this.database.stop();
    await this.store.remove();
  }

  /** One run. Rejects with what ended it, after its summary was written. */
  async scan(root: string, settings: Record<string, string> = {}, signal?: AbortSignal): Promise<Scanned> {
    const from = this.logs.length;
    const found = locateRoot(root);
    const lease = await this.locks.acquire(found.toString());
    if (!lease) throw new Error('the root is locked');
    try {
      await this.create(root, lease, settings, signal).run();
    } finally {
      await lease.release();
    }
    return this.scannedSince(from);
  }

  create(root: string, lease: Lease, settings: Record<string, string> = {}, signal = NEVER) {
    return { run: () => this.task(root, settings).scan(locateRoot(root), lease, signal) };
  }

  /** What the process runs: it takes the lease itself and gives it back itself. */
  task(root: string, settings: Record<string, string> = {}): ScanTask {
    const env = { TARGET_DIRECTORY: root, THREADS: '2', ...settings };
    const config = loadConfig({ producer: ProducerConfig }, { env, cwd: '/nonexistent' }).producer;
    const databaseConfig = Object.assign(new DatabaseConfig(), { DATABASE_URL: this.store.url });
    const { database, locks, logger, metrics } = this;
    const queue = this.queues.getQueue(config.PATH_DISCOVERY_QUEUE);
    const threads = new ScanThreads(config, logger, metrics);
    return new ScanTask(
      ...([config, databaseConfig, database, locks, queue, threads, metrics] as const),
      ...([IDENTITY, systemClock, logger] as const),
    );
  }

  lastSummary(): ScanSummary {
    return this.scannedSince(0).summary;
  }

  query<Row extends object>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    return this.database.read((manager) => queryRows<Row>(manager, sql, params));
  }

  async execute(sql: string, params: readonly unknown[] = []): Promise<void> {
    await this.database.inTransaction((manager) => queryRows(manager, `${sql} RETURNING id`, params));
  }

  /** Rows of `files` by path below the root. */
  async files(root: string): Promise<Map<string, FileRow>> {
    const rows = await this.query<FileRow>('SELECT * FROM files ORDER BY path');
    return below(root, rows);
  }

  async folders(root: string): Promise<Map<string, FolderRow>> {
    const rows = await this.query<FolderRow>('SELECT * FROM folders ORDER BY path');
    return below(root, rows);
  }

  /** Outcomes of the root's scans, in order. */
  async outcomes(root: string): Promise<string[]> {
    const rows = await this.query<{ outcome: string }>(
      'SELECT s.outcome FROM scans s JOIN roots r ON r.id = s.root_id WHERE r.path = $1 ORDER BY s.id',
      [root],
    );
    return rows.map(({ outcome }) => outcome);
  }

  /** What the jobs in the queue say of the root's files, those that are named by the rows. */
  async jobs(root: string): Promise<Record<string, unknown>[]> {
    const jobs = await this.queues.getQueue(QUEUE).getJobs(['waiting'], 0, 1_000_000);
    const rows = await this.query<{ id: number; revision: number; job_id: string | null }>(
      'SELECT id, revision, job_id FROM files',
    );
    const named = new Set(
      rows.map(({ job_id: jobId, ...row }) => `${row.id} ${jobOfFile({ ...row, jobId })}`),
    );
    return jobs
      .flatMap(({ id, data }) => filesOf(FILE_JOB.parse(data)).map((file) => ({ ...file, jobId: id })))
      .filter(({ fileId, jobId }) => named.has(`${fileId} ${jobId}`))
      .filter(({ filePath }) => filePath.startsWith(`${root}/`));
  }

  private scannedSince(from: number): Scanned {
    const logs = this.logs.slice(from);
    const line = logs.findLast(({ event }) => event === 'scan-summary');
    const summary = line?.summary as ScanSummary;
    return { summary, outcome: summary?.outcome, logs };
  }
}

function below<Row extends { path: string }>(root: string, rows: readonly Row[]): Map<string, Row> {
  return new Map(
    rows
      .filter(({ path }) => path === root || path.startsWith(`${root}/`))
      .map((row) => [row.path.slice(root.length + 1), row]),
  );
}
