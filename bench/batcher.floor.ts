import { join } from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import { Queue, Worker } from 'bullmq';
import sqlite3 from 'sqlite3';
import type { JobFile } from '#contracts';
import { fileJobOf, openDatabase, registerFiles } from '../apps/batcher/src/batcher.fixture.js';
import { startRedis } from '../libs/testing/src/redis-server.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { closeSql, runSql } from './raw-sqlite.js';

const HELD = 2_000;
const A_BATCH = 1_500;
const A_TASK = 128;
const GATHER_MS = 10;

interface Held {
  job: JobFile;
  hash: string;
  end: () => void;
}

/**
 * Files a second that the libraries alone reach with what no batcher can do without: BullMQ hands out the jobs and is told
 * of their end, a thread opens, reads and hashes each file, sqlite3 writes states, items and event of a batch in one
 * transaction. As many jobs are held as the batcher holds. No tokens, no packing, no check, no lost job looked for.
 */
export async function floorRate(paths: readonly string[]): Promise<number> {
  const folder = await tempFolder('floor');
  const redis = await startRedis();
  const file = join(folder.path, 'millrace.db');
  const database = await openDatabase(`sqlite:${file}`);
  const jobs = (await registerFiles(database, paths)).map((registered) => fileJobOf(registered));
  await database.stop();
  const store = new sqlite3.Database(file);
  await runSql(store, 'PRAGMA synchronous = NORMAL');
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
  const queue = new Queue('floor', { connection });
  await queue.pause();
  for (let from = 0; from < jobs.length; from += 1_000)
    await queue.addBulk(
      jobs.slice(from, from + 1_000).map(({ payload, jobId }) => ({
        ...{ name: 'file job', data: payload, opts: { jobId } },
      })),
    );
  const reader = new HashReader();
  let left = jobs.length;
  let held: Held[] = [];
  let committing = Promise.resolve();
  const hold = async (job: JobFile): Promise<void> => {
    const hash = await reader.read(job.filePath);
    await new Promise<void>((end) => {
      held.push({ job, hash, end });
      if (--left > 0 && held.length < A_BATCH) return;
      const batch = held;
      held = [];
      committing = committing.then(() => commit(store, batch));
    });
  };
  let ended = 0;
  const worker = new Worker('floor', (job) => hold(job.data as JobFile), { connection, concurrency: HELD });
  const finished = new Promise<void>((resolve) =>
    worker.on('completed', () => {
      if (++ended === jobs.length) resolve();
    }),
  );
  await worker.waitUntilReady();
  const begun = performance.now();
  await queue.resume();
  await finished;
  const seconds = (performance.now() - begun) / 1_000;
  await worker.close();
  await queue.close();
  await reader.stop();
  await closeSql(store);
  await redis.stop();
  await folder.remove();
  return jobs.length / seconds;
}

/** Hashes on a thread, many a message. */
class HashReader {
  private readonly thread = new Thread(new URL('./batcher.floor.thread.js', import.meta.url));
  private waiting: { path: string; resolve: (hash: string) => void }[] = [];
  private readonly sent: ((hash: string) => void)[][] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor() {
    this.thread.on('message', (hashes: string[]) =>
      this.sent.shift()?.forEach((resolve, index) => resolve(hashes[index] ?? '')),
    );
  }

  read(path: string): Promise<string> {
    return new Promise((resolve) => {
      this.waiting.push({ path, resolve });
      if (this.waiting.length === A_TASK) this.send();
      else this.timer ??= setTimeout(() => this.send(), GATHER_MS);
    });
  }

  async stop(): Promise<void> {
    await this.thread.terminate();
  }

  private send(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const group = this.waiting;
    this.waiting = [];
    this.sent.push(group.map(({ resolve }) => resolve));
    this.thread.postMessage(group.map(({ path }) => path));
  }
}

let batches = 0;

async function commit(store: sqlite3.Database, batch: readonly Held[]): Promise<void> {
  const id = `batch-${++batches}`;
  const rows = JSON.stringify(batch.map(({ job, hash }) => [job.fileId, hash]));
  const payload = JSON.stringify(batch.map(({ job, hash }) => ({ ...job, hash })));
  const source = '(SELECT value ->> 0 AS id, value ->> 1 AS hash FROM json_each(?1)) AS v';
  await runSql(store, 'BEGIN IMMEDIATE');
  await runSql(
    store,
    `UPDATE files SET status = 'batched', hash_value = v.hash, token_count = 6 FROM ${source}
     WHERE files.id = v.id AND files.status = 'pending' RETURNING files.id`,
    [rows],
  );
  await runSql(
    store,
    `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at)
     VALUES (?1, 1, 1, 1, 'floor', 0)`,
    [id],
  );
  await runSql(
    store,
    `INSERT INTO batch_items
       (file_id, revision, part, parts, batch_id, byte_start, byte_end, tokens, content_hash)
     SELECT v.id, 1, 1, 1, ?2, 0, 22, 6, v.hash FROM ${source}`,
    [rows, id],
  );
  await runSql(
    store,
    `INSERT INTO outbox (id, queue, event_name, payload, created_at, available_at)
     VALUES (?1, 'q', 'e', ?2, 0, 0)`,
    [id, payload],
  );
  await runSql(store, 'COMMIT');
  for (const { end } of batch) end();
}
