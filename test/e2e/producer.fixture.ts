import { expect } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf, jobOfFile, type FileJob } from '#contracts';
import { Database, queryRows } from '#database';
import { QueueManager } from '#queue-manager';
import { createRedisClient, parseRedisUrl } from '#redis';
import { Metrics, silentLogger } from '#service';
import {
  eventually,
  pipelineRedis,
  sharedRedis,
  spawnApp,
  tempFolder,
  testDatabase,
  type Child,
  type TempFolder,
  type TestDatabase,
} from '#testing';

export interface Summary {
  outcome: string;
  resumed: boolean;
  scanId: number;
  files: number;
  folders: number;
  created: number;
  enqueued: number;
  errors: number;
  errorCodes: Record<string, number>;
}

/** A root, a database and a corner of Redis of one's own, and producers to set on them. */
export class ProducerRig {
  readonly root: string;

  private constructor(
    readonly folder: TempFolder,
    readonly database: TestDatabase,
    readonly redisUrl: string,
    readonly prefix: string,
  ) {
    this.root = join(folder.path, 'root');
  }

  static async start(redisUrl?: string): Promise<ProducerRig> {
    const shared = redisUrl ? { url: redisUrl, prefix: '{p}' } : sharedRedis();
    const folder = await tempFolder('producer');
    const rig = new ProducerRig(folder, await testDatabase('sqlite'), shared.url, shared.prefix);
    mkdirSync(rig.root);
    return rig;
  }

  async stop(): Promise<void> {
    await this.database.remove();
    await this.folder.remove();
  }

  env(settings: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return {
      TARGET_DIRECTORY: this.root,
      DATABASE_URL: this.database.url,
      REDIS_URL: this.redisUrl,
      REDIS_PREFIX: this.prefix,
      LOCK_KEY_PREFIX: `${this.prefix}:lock:`,
      LOCK_LEASE_MILLISECONDS: '1500',
      LOCK_RENEWAL_INTERVAL_MILLISECONDS: '300',
      MILLRACE_TEST_HASTE: '5',
      LOG_FORMAT: 'json',
      THREADS: '2',
      ...settings,
    };
  }

  spawn(settings: NodeJS.ProcessEnv = {}): Child {
    return spawnApp('producer', this.env(settings));
  }

  /** Runs to the end; first the lease of one that was killed is waited for. */
  async run(
    settings: NodeJS.ProcessEnv = {},
  ): Promise<{ code: number | null; summary: Summary | undefined; child: Child }> {
    await this.leaseOver();
    // One that is to die leaves its lease to be waited for; any other must not lose it on a busy machine.
    const dies = settings.MILLRACE_FAULT !== undefined || settings.NODE_OPTIONS !== undefined;
    const child = this.spawn({ ...(!dies && { LOCK_LEASE_MILLISECONDS: '30000' }), ...settings });
    const { code } = await child.exited;
    return { code, summary: summaryOf(child), child };
  }

  async leaseOver(): Promise<void> {
    const client = createRedisClient(parseRedisUrl(this.redisUrl), { role: 'worker', name: 'test' });
    try {
      await eventually(async () => expect(await client.keys(`*lock*${this.root}`)).toEqual([]));
    } finally {
      client.disconnect();
    }
  }

  /** `folders` folders in two levels with `each` files in each. */
  plant(folders: number, each: number): void {
    for (let index = 0; index < folders; index++) {
      const path = join(this.root, `g${index % 10}`, `d${index}`);
      mkdirSync(path, { recursive: true });
      for (let file = 0; file < each; file++) writeFileSync(join(path, `f${file}.txt`), `${index}-${file}`);
    }
  }

  async query<Row extends object>(sql: string): Promise<Row[]> {
    const database = new Database({ url: this.database.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    try {
      return await database.read((manager) => queryRows<Row>(manager, sql));
    } finally {
      await database.stop();
    }
  }

  /** The tables without what differs from run to run: ids, times, inodes of the machine stay out. */
  async tables(): Promise<{ files: object[]; folders: object[]; scans: object[] }> {
    const files = await this.query<object>(
      `SELECT f.path, f.size, f.mtime_ns, f.inode, f.revision, f.status, f.skip_reason, f.error_status, f.removed,
         d.path AS folder, f.enqueued_at > 0 AS enqueued
       FROM files f JOIN folders d ON d.id = f.folder_id ORDER BY f.path`,
    );
    const folders = await this.query<object>(
      `SELECT f.path, p.path AS parent, f.depth, f.removed, f.error_status, f.listing_digest,
         f.listed_scan_id = f.last_scan_id AS listed
       FROM folders f LEFT JOIN folders p ON p.id = f.parent_id ORDER BY f.path`,
    );
    return { files, folders, scans: await this.query<object>('SELECT outcome FROM scans') };
  }

  /** The files that jobs in the queue bring, as their rows say: a job that a row does not name leaves its file alone. */
  async jobs(): Promise<{ id: string; path: string }[]> {
    const queues = new QueueManager({
      ...(await pipelineRedis({ url: this.redisUrl, prefix: this.prefix }, this.database.url)),
      workerId: 'test',
      logger: silentLogger,
      metrics: new Metrics(),
    });
    await queues.start();
    try {
      const jobs = await queues.getQueue('files-to-batch-queue').getJobs(['waiting'], 0, 1_000_000);
      const rows = await this.query<{ id: number; revision: number; job_id: string | null }>(
        'SELECT id, revision, job_id FROM files',
      );
      const named = new Map(rows.map(({ job_id: jobId, ...row }) => [row.id, jobOfFile({ ...row, jobId })]));
      return jobs.flatMap(({ id = '', data }) =>
        filesOf(data as FileJob)
          .filter(({ fileId }) => named.get(fileId) === id)
          .map(({ filePath }) => ({ id, path: filePath })),
      );
    } finally {
      await queues.stop();
    }
  }
}

export function summaryOf(child: Child): Summary | undefined {
  return child.logs().findLast(({ event }) => event === 'scan-summary')?.summary as Summary | undefined;
}
