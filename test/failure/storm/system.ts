import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BATCH_EVENT, FILE_JOB, QUEUE, type BatchEvent, type FileJob } from '#contracts';
import { Database, queryRows, type EntityManager } from '#database';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger, sleep } from '#service';
import {
  createDatabase,
  spawnApp,
  spawnBuilt,
  startPostgres,
  startRedis,
  tempFolder,
  type Child,
  type DatabaseKind,
  type PostgresServer,
  type RedisServer,
  type TempFolder,
} from '#testing';
import { RecordingAnalyser } from '../../e2e/recording-analyser.js';
import { StormFleet } from './fleet.js';
import { LogBook } from './log-book.js';
import type { Random } from './random.js';
import { TcpProxy } from './tcp-proxy.js';
import { StormTree } from './tree.js';

export const MAX_BATCH_TOKENS = 2_000;
const PARTS = { logger: silentLogger, metrics: new Metrics() };

/** The composed system with a handle on everything that can be broken. */
export class StormSystem {
  readonly fleet: StormFleet;
  /** The scan in progress, if one is. */
  producer: Child | undefined;
  private readonly stopped = new AbortController();
  private scanning: Promise<void> = Promise.resolve();
  private halted = false;

  private constructor(
    readonly kind: DatabaseKind,
    readonly folder: TempFolder,
    readonly tree: StormTree,
    readonly redis: RedisServer,
    readonly redisProxy: TcpProxy,
    readonly postgres: PostgresServer | undefined,
    readonly databaseProxy: TcpProxy | undefined,
    readonly analyser: RecordingAnalyser,
    /** The database without the proxy, for the driver's own looks. */
    readonly directDatabaseUrl: string,
    private readonly databaseUrl: string,
    readonly logs: LogBook,
  ) {
    this.fleet = new StormFleet(logs);
  }

  static async start(kind: DatabaseKind, files: number, random: Random, logs?: string): Promise<StormSystem> {
    const folder = await tempFolder('storm');
    const tree = new StormTree(join(folder.path, 'tree'));
    await mkdir(tree.root);
    await tree.grow(files, random);
    const redis = await startRedis({ persistent: true });
    const redisProxy = await TcpProxy.start(redis.port);
    const postgres = kind === 'postgres' ? await startPostgres() : undefined;
    const databaseProxy = postgres && (await TcpProxy.start(postgres.port));
    const direct = postgres
      ? (await createDatabase(postgres.url())).url
      : `sqlite:${join(folder.path, 'millrace.db')}`;
    const proxied = new URL(direct);
    if (databaseProxy) proxied.port = String(databaseProxy.port);
    const analyser = await RecordingAnalyser.start();
    const url = databaseProxy ? proxied.href : direct;
    return new StormSystem(
      kind,
      folder,
      tree,
      redis,
      redisProxy,
      postgres,
      databaseProxy,
      analyser,
      direct,
      url,
      new LogBook(logs),
    );
  }

  startApps(): void {
    const env = this.environment();
    const sink = { SINK: 'http', ANALYZER_URL: this.analyser.url, PATH_BASE: this.tree.root };
    for (const index of [1, 2, 3])
      this.fleet.start(`batcher-${index}`, 'batcher', { ...env, BATCHER_THREADS: '1' });
    for (const index of [1, 2]) this.fleet.start(`publisher-${index}`, 'outbox-publisher', env);
    for (const index of [1, 2]) this.fleet.start(`analyzer-${index}`, 'analyzer', { ...env, ...sink });
    this.fleet.start('dlq-admin', 'dlq-admin', env);
    this.scanning = this.scanForEver();
  }

  /** One more complete scan, however often it must be tried. */
  async scanOnce(): Promise<void> {
    for (let tries = 0; tries < 20 && !this.halted; tries++) {
      const { code, stdout } = await this.scan();
      // Exit 0 is also "another holds the lease": what counts is a scan that says it is complete.
      if (code === 0 && stdout.includes('"summary"')) return;
      await sleep(1_000);
    }
    if (!this.halted) throw new Error('no scan completed after the storm');
  }

  private async scan(): Promise<{ code: number | null; stdout: string }> {
    const producer = spawnApp('producer', { ...this.environment(), TARGET_DIRECTORY: this.tree.root });
    this.producer = producer;
    const { code } = await producer.exited;
    this.producer = undefined;
    this.logs.keep('producer', producer);
    return { code, stdout: producer.stdout };
  }

  /** Makes an end of everything as soon as can be: waits are cut short and nothing is started again. */
  halt(): void {
    this.halted = true;
    this.stopped.abort();
    this.fleet.retire();
    this.producer?.signal('SIGTERM');
  }

  /** Ends the repeated scans; the fleet goes on. */
  async calm(): Promise<void> {
    this.stopped.abort();
    this.fleet.resumeAll();
    await this.scanning;
  }

  wait(ms: number): Promise<void> {
    return sleep(ms, this.stopped.signal);
  }

  async terminateBackends(): Promise<string> {
    const rows = await this.look((manager) =>
      queryRows<{ ended: boolean }>(
        manager,
        'SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      ),
    );
    return `${rows.length} backends`;
  }

  /** Another program that holds SQLite's write lock. */
  async holdWriteLock(ms: number): Promise<string> {
    const path = this.directDatabaseUrl.replace('sqlite:', '');
    const holder = spawnBuilt('libs/database/src/hold-lock.process', [path, String(ms)]);
    await holder.exited;
    return `${ms} ms`;
  }

  /** Jobs that are in the tables, once more and under other ids, as late and duplicate deliveries would be. */
  async deliverAgain(random: Random): Promise<string> {
    const queues = new QueueManager({ url: this.redis.url, workerId: 'storm', ...PARTS });
    try {
      await queues.start();
      const files = await this.someFileJobs();
      const batches = await this.someBatches();
      const id = (): string => `again-${random.between(0, 1e9)}`;
      await queues.enqueueJobs(
        QUEUE.filesToBatch,
        FILE_JOB,
        files.map((payload) => ({ payload, jobId: id() })),
      );
      await queues.enqueueJobs(
        QUEUE.fileAnalysis,
        BATCH_EVENT,
        batches.map((payload) => ({ payload, jobId: id() })),
      );
      return `${files.length} files, ${batches.length} batches`;
    } catch (error) {
      return `not now: ${(error as Error).message}`;
    } finally {
      await queues.closeConnections();
    }
  }

  async stop(): Promise<void> {
    await this.calm();
    await this.fleet.stop();
    await this.analyser.stop();
    await this.redisProxy.stop();
    await this.databaseProxy?.stop();
    await this.redis.stop();
    await this.postgres?.stop();
    await this.folder.remove();
  }

  /** The environment of `millrace` commands about this system. */
  directEnvironment(): Record<string, string> {
    return { DATABASE_URL: this.directDatabaseUrl, REDIS_URL: this.redis.url };
  }

  private environment(): Record<string, string> {
    return {
      REDIS_URL: `redis://127.0.0.1:${this.redisProxy.port}`,
      DATABASE_URL: this.databaseUrl,
      MAX_BATCH_TOKENS: String(MAX_BATCH_TOKENS),
      LOCK_LEASE_MILLISECONDS: '5000',
      LOCK_RENEWAL_INTERVAL_MILLISECONDS: '1000',
      RECOVERY_AGE_MS: '10000',
      RECOVERY_INTERVAL_MS: '2000',
      CONFIRM_TIMEOUT_MS: '10000',
      // A storm deletes files on purpose.
      ALLOW_MASS_REMOVAL: 'true',
    };
  }

  private async scanForEver(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      await this.scan();
      await this.wait(1_000);
    }
  }

  private async someFileJobs(): Promise<FileJob[]> {
    const rows = await this.look((manager) =>
      queryRows<{ id: number; path: string; size: number; revision: number }>(
        manager,
        'SELECT id, path, size, revision FROM files WHERE removed = 0 ORDER BY id DESC LIMIT 20',
      ),
    );
    return rows.map((row) => ({
      filePath: row.path,
      fileSize: Number(row.size),
      fileId: Number(row.id),
      revision: Number(row.revision),
    }));
  }

  private async someBatches(): Promise<BatchEvent[]> {
    const rows = await this.look((manager) =>
      queryRows<{ payload: string }>(
        manager,
        `SELECT payload FROM outbox WHERE queue = '${QUEUE.fileAnalysis}' ORDER BY created_at DESC LIMIT 5`,
      ),
    );
    return rows.map(({ payload }) => JSON.parse(payload) as BatchEvent);
  }

  private async look<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const database = new Database({ url: this.directDatabaseUrl, migrations: 'check', ...PARTS });
    try {
      await database.start();
      return await database.read(work);
    } finally {
      await database.stop();
    }
  }
}
