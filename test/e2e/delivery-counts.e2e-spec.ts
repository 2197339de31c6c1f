import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { BATCH_EVENT, QUEUE } from '#contracts';
import { Database, queryOne } from '#database';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import {
  eventually,
  pipelineRedis,
  startRedis,
  tempFolder,
  testDatabase,
  type RedisServer,
  type TempFolder,
  type TestDatabase,
} from '#testing';
import { AnalyzerApp } from './analyzer-app.js';
import { seedBatch } from './seeded-batch.js';

const BATCHES = 40;
const FILES = 25;

/** Counts, since load cannot blur them: what a batch costs the database and Redis, whatever it holds. */
describe('the delivery of a backlog', () => {
  let place: TestDatabase;
  let folder: TempFolder;
  let server: RedisServer;
  let redis: Redis;
  let database: Database;
  let queues: QueueManager;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
    place = await testDatabase('sqlite');
    folder = await tempFolder('counts');
    const parts = { logger: silentLogger, metrics: new Metrics() };
    database = new Database({ url: place.url, ...parts });
    await database.start();
    queues = new QueueManager({
      ...(await pipelineRedis({ url: server.url }, place.url)),
      ...{ workerId: 'test', ...parts },
    });
    await queues.start();
  });
  afterAll(async () => {
    redis.disconnect();
    await queues.closeConnections();
    await database.stop();
    await place.remove();
    await folder.remove();
    await server.stop();
  });

  const scripts = async (): Promise<number> => {
    const stats = await redis.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const delivered = async (): Promise<number> => {
    const count = 'SELECT count(*) AS n FROM batches WHERE completed_at IS NOT NULL';
    return (await database.read((manager) => queryOne<{ n: number }>(manager, count))).n;
  };

  it('takes few statements and calls of scripts a batch', async () => {
    for (let n = 0; n < BATCHES; n++) {
      const names = Array.from({ length: FILES }, (_, file) => `f-${n}-${file}`);
      const batch = await seedBatch(
        database,
        folder.path,
        Object.fromEntries(names.map((name) => [name, name])),
      );
      await queues.enqueueJob(QUEUE.fileAnalysis, BATCH_EVENT, batch, { jobId: `e-${batch.id}` });
    }
    const statements = countStatements();
    const out = join(folder.path, 'out');
    const before = await scripts();
    const app = await AnalyzerApp.start({
      ...{ REDIS_URL: server.url, DATABASE_URL: place.url, SINK: 'write', OUTPUT_DIRECTORY: out },
    });
    try {
      await eventually(async () => expect((await readdir(out)).length).toBeGreaterThanOrEqual(BATCHES));
      await eventually(async () => expect(await delivered()).toBe(BATCHES));
      await eventually(async () => expect(await queues.getQueue(QUEUE.fileAnalysis).unfinished()).toBe(0));
    } finally {
      await app.stop();
    }
    const [asked, called] = [statements.stop(), (await scripts()) - before];
    expect(asked / BATCHES).toBeLessThan(9);
    expect(called / BATCHES).toBeLessThan(3);
  });
});

/** Statements of every connection of this process. */
function countStatements(): { stop: () => number } {
  const { prototype } = sqlite3.Database;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with their object below
  const { all, run } = prototype;
  let count = 0;
  const counting = <F extends (...args: never[]) => unknown>(inner: F): F =>
    function (this: unknown, ...args: Parameters<F>) {
      count++;
      return inner.apply(this, args);
    } as F;
  Object.assign(prototype, { all: counting(all), run: counting(run) });
  return {
    stop: () => {
      Object.assign(prototype, { all, run });
      return count;
    },
  };
}
