import { BATCH_EVENT, FILE_JOB, QUEUE, type BatchEvent, type FileJob } from '#contracts';
import { Database, queryRows } from '#database';
import { deepen, verify, type Proof } from '#proof';
import { QueueManager } from '#queue-manager';
import { pipelineRedis } from '#testing';
import { Metrics, silentLogger } from '#service';
import type { Random } from '#testing';

const PARTS = { logger: silentLogger, metrics: new Metrics() };
const AT_WORK = [QUEUE.filesToBatch, QUEUE.fileAnalysis];

export interface Jobs {
  files: FileJob[];
  batches: BatchEvent[];
}

/** The driver's own look into tables and queues, past everything that it breaks. */
export class StormBooks {
  constructor(
    private readonly databaseUrl: string,
    private readonly redisUrl: string,
  ) {}

  /** The jobs of the newest files and batches. */
  async jobs(limit: { files: number; batches: number }): Promise<Jobs> {
    const files = await this.query<{ id: number; path: string; size: number; revision: number }>(
      `SELECT id, path, size, revision FROM files WHERE removed = 0 ORDER BY id DESC LIMIT ${limit.files}`,
    );
    const events = await this.query<{ payload: string }>(
      `SELECT payload FROM outbox WHERE queue = '${QUEUE.fileAnalysis}' ORDER BY created_at DESC LIMIT ${limit.batches}`,
    );
    return {
      files: files.map(({ path, size, id, revision }) => ({
        filePath: path,
        fileSize: Number(size),
        fileId: Number(id),
        revision: Number(revision),
      })),
      batches: events.map(({ payload }) => JSON.parse(payload) as BatchEvent),
    };
  }

  /** Jobs once more and under other ids, as late and duplicate deliveries would be. */
  deliver({ files, batches }: Jobs, random: Random): Promise<void> {
    const id = (): string => `again-${random.between(0, 1e9)}-${random.between(0, 1e9)}`;
    return this.withQueues(async (queues) => {
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
    });
  }

  /** Jobs that are still to be done. */
  queued(): Promise<number> {
    return this.withQueues(async (queues) => {
      const counts = await Promise.all(AT_WORK.map((queue) => queues.getQueue(queue).counts()));
      return counts.reduce((sum, { waiting, active, delayed }) => sum + waiting + active + delayed, 0);
    });
  }

  /** What `millrace verify` tells an operator. */
  proof(): Promise<Proof> {
    return this.withDatabase((database) => verify(database));
  }

  /** What `millrace verify --deep` tells an operator. */
  deepProof(): Promise<Proof> {
    return this.withDatabase(async (database) => deepen(database, await verify(database), { ownPaths: [] }));
  }

  /** Paths of files that the tables say are there. */
  async livePaths(): Promise<string[]> {
    const rows = await this.query<{ path: string }>('SELECT path FROM files WHERE removed = 0');
    return rows.map(({ path }) => path);
  }

  /** Files that were found to be what was delivered of them before. */
  async touched(): Promise<number> {
    const rows = await this.query<{ n: number }>(
      "SELECT count(*) AS n FROM files WHERE status = 'analyzed' AND sent_revision < revision",
    );
    return Number(rows[0]?.n ?? 0);
  }

  /**
   * Batches that held a file, by its path, in a revision of which some part was found to be another, or not to be read, before
   * its delivery was recorded: it follows in another batch, and may then be what it was.
   */
  async staleIn(): Promise<Set<string>> {
    const rows = await this.query<{ batch_id: string; path: string }>(
      `SELECT a.batch_id, f.path FROM analyses a JOIN files f ON f.id = a.file_id
       JOIN analyses torn ON torn.file_id = a.file_id AND torn.revision = a.revision AND torn.outcome = 'stale'`,
    );
    return new Set(rows.map(({ batch_id, path }) => `${batch_id}:${path}`));
  }

  /** How often each batch was announced as completed. */
  async completions(): Promise<Map<string, number>> {
    const times = new Map<string, number>();
    const rows = await this.query<{ payload: string }>(
      `SELECT payload FROM outbox WHERE queue = '${QUEUE.analysisCompleted}'`,
    );
    for (const { payload } of rows) {
      const { batchId } = JSON.parse(payload) as { batchId: string };
      times.set(batchId, (times.get(batchId) ?? 0) + 1);
    }
    return times;
  }

  async terminateBackends(): Promise<number> {
    const rows = await this.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rows.length;
  }

  private query<T extends object>(sql: string): Promise<T[]> {
    return this.withDatabase((database) => database.read((manager) => queryRows<T>(manager, sql)));
  }

  private async withDatabase<T>(use: (database: Database) => Promise<T>): Promise<T> {
    const database = new Database({ url: this.databaseUrl, migrations: 'check', ...PARTS });
    try {
      await database.start();
      return await use(database);
    } finally {
      await database.stop();
    }
  }

  private async withQueues<T>(use: (queues: QueueManager) => Promise<T>): Promise<T> {
    const queues = new QueueManager({
      ...(await pipelineRedis({ url: this.redisUrl }, this.databaseUrl)),
      workerId: 'storm',
      ...PARTS,
    });
    try {
      await queues.start();
      return await use(queues);
    } finally {
      await queues.closeConnections();
    }
  }
}
