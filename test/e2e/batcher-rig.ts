import { randomUUID } from 'node:crypto';
import { afterEach, expect } from '@jest/globals';
import { BATCH_EVENT, jobOfFile, QUEUE, type BatchEvent } from '#contracts';
import { queryRows, type Database } from '#database';
import type { QueueManager } from '#queue-manager';
import {
  eventually,
  nodeArguments,
  pipelineRedis,
  sharedRedis,
  spawnApp,
  spawnProgram,
  tempFolder,
  testDatabase,
  type Child,
  type DatabaseKind,
} from '#testing';
import {
  enqueueFiles,
  openDatabase,
  openQueues,
  registerFiles,
  statusCounts,
  writeTree,
  type Registered,
} from '../../apps/batcher/src/batcher.fixture.js';

export interface RigOptions {
  kind?: DatabaseKind;
  redis?: { url: string; prefix: string };
  env?: NodeJS.ProcessEnv;
  /** Files of a job. With 1, jobs have the form of the seed. */
  filesPerJob?: number;
}

const open = new Set<BatcherRig>();

/** A tree, a database, a queue and batcher processes of one test; all gone after it. */
export class BatcherRig {
  readonly queue = QUEUE.filesToBatch;
  private readonly children = new Set<Child>();
  private readonly closers: (() => Promise<unknown>)[] = [];
  folder!: string;
  database!: Database;
  queues!: QueueManager;
  private env: NodeJS.ProcessEnv = {};
  private filesPerJob = 7;

  static async open({
    kind = 'sqlite',
    redis = sharedRedis(),
    env = {},
    filesPerJob = 7,
  }: RigOptions = {}): Promise<BatcherRig> {
    const rig = new BatcherRig();
    rig.filesPerJob = filesPerJob;
    open.add(rig);
    const folder = await tempFolder('tree');
    rig.folder = folder.path;
    rig.closers.push(folder.remove);
    const store = await testDatabase(kind);
    rig.closers.push(store.remove);
    rig.database = await openDatabase(store.url);
    rig.closers.push(() => rig.database.stop());
    rig.queues = await openQueues(await pipelineRedis(redis, store.url));
    rig.closers.push(() => rig.queues.closeConnections());
    rig.env = {
      ...{ REDIS_URL: redis.url, REDIS_PREFIX: redis.prefix, DATABASE_URL: store.url },
      ...{
        LOG_FORMAT: 'json',
        LOG_LEVEL: 'debug',
        BATCHER_THREADS: '1',
        RECOVERY_INTERVAL_MS: '500',
        MILLRACE_TEST_HASTE: '4',
        ...env,
      },
    };
    return rig;
  }

  start(env: NodeJS.ProcessEnv = {}): Child {
    return this.keep(spawnApp('batcher', this.envOf(env)));
  }

  /** A batcher on a node of its own, where the command runs first and sees its own mounts. */
  startOnNode(command: string): Child {
    const batcher = [process.execPath, ...nodeArguments('apps/batcher/src/main')].join(' ');
    const args = ['--mount', '--propagation', 'private', 'sh', '-c', `${command} && exec ${batcher}`];
    return this.keep(spawnProgram('unshare', args, { env: { PORT: '0', ...this.envOf() } }));
  }

  private envOf(env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return { ...this.env, WORKER_ID: `batcher-${randomUUID().slice(0, 8)}`, ...env };
  }

  private keep(child: Child): Child {
    this.children.add(child);
    return child;
  }

  /** Files by name and content, registered and enqueued as a scan would. */
  async add(files: Readonly<Record<string, string | Buffer>>): Promise<Registered[]> {
    return this.addPaths(writeTree(this.folder, files));
  }

  async addPaths(paths: readonly string[]): Promise<Registered[]> {
    const registered = await registerFiles(this.database, paths);
    await enqueueFiles(this.queues, this.database, registered, this.filesPerJob);
    return registered;
  }

  /** The job that brings a file. */
  async jobOf({ id, revision }: Registered): Promise<string> {
    const [row] = await this.rows<{ job_id: string | null }>('SELECT job_id FROM files WHERE id = $1', [id]);
    return jobOfFile({ id, revision, jobId: row?.job_id ?? null });
  }

  rows<Row extends object>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    return this.database.read((manager) => queryRows<Row>(manager, sql, params));
  }

  statuses(): Promise<Record<string, number>> {
    return statusCounts(this.database);
  }

  async settled(timeoutMs = 90_000): Promise<Record<string, number>> {
    await eventually(
      async () => {
        const { pending = 0, processing = 0 } = await this.statuses();
        expect(pending + processing).toBe(0);
      },
      { timeoutMs, everyMs: 100 },
    );
    return this.statuses();
  }

  async events(): Promise<BatchEvent[]> {
    const rows = await this.rows<{ payload: string }>('SELECT payload FROM outbox ORDER BY created_at, id');
    return rows.map(({ payload }) => BATCH_EVENT.parse(JSON.parse(payload)));
  }

  async close(): Promise<void> {
    open.delete(this);
    const running = [...this.children].filter((child) => child.running);
    await Promise.all(running.map((child) => child.end('SIGKILL')));
    for (const close of this.closers.reverse()) await close();
  }
}

/** Closes what a test opened, also when it failed. */
export function closeRigs(): void {
  afterEach(async () => {
    for (const rig of [...open]) await rig.close();
  }, 60_000);
}

const PROMISES: Record<string, string> = {
  'a batched file is in a batch with all its bytes, once': `SELECT f.id FROM files f
    LEFT JOIN batch_items i ON i.file_id = f.id AND i.revision = coalesce(f.sent_revision, f.revision)
    WHERE f.status IN ('batched', 'analyzed')
    GROUP BY f.id, f.size HAVING count(i.part) <> coalesce(max(i.parts), 0) OR count(i.part) = 0 OR min(i.byte_start) <> 0
      OR max(i.byte_end) <> f.size OR sum(i.byte_end - i.byte_start) <> f.size`,
  'a file that is not batched is in no batch': `SELECT f.id FROM files f JOIN batch_items i
    ON i.file_id = f.id AND i.revision = f.revision WHERE f.status NOT IN ('batched', 'analyzed', 'failed')`,
  'a batch has its items, within its budget': `SELECT b.id FROM batches b LEFT JOIN batch_items i ON i.batch_id = b.id
    GROUP BY b.id, b.item_count, b.total_tokens, b.max_tokens
    HAVING count(i.part) <> b.item_count OR count(i.part) = 0 OR sum(i.tokens) > b.total_tokens OR b.total_tokens > b.max_tokens`,
  'a batch has one event': `SELECT b.id FROM batches b LEFT JOIN outbox o ON o.id = b.id GROUP BY b.id HAVING count(o.id) <> 1`,
  'an event has its batch': `SELECT o.id FROM outbox o LEFT JOIN batches b ON b.id = o.id WHERE b.id IS NULL`,
  'a skipped file has a reason': `SELECT id FROM files WHERE status = 'skipped' AND skip_reason IS NULL`,
};

/** The promises of the batcher, from the tables alone; and that events name exactly the items. */
export async function expectKept(rig: BatcherRig): Promise<void> {
  const broken: string[] = [];
  for (const [promise, sql] of Object.entries(PROMISES))
    if ((await rig.rows(sql)).length > 0) broken.push(promise);
  expect(broken).toEqual([]);
  const items = await rig.rows<Record<'batch_id' | 'file_id' | 'revision' | 'part', string | number>>(
    'SELECT batch_id, file_id, revision, part FROM batch_items',
  );
  const told = (await rig.events()).flatMap(({ id, files }) =>
    files.map(({ fileId, revision, part }) => `${id} ${fileId} ${revision} ${part}`),
  );
  expect(told.sort()).toEqual(
    items.map((item) => `${item.batch_id} ${item.file_id} ${item.revision} ${item.part}`).sort(),
  );
}
