import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execute, joinPipeline, type Database } from '#database';
import { ANY_PAYLOAD, QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import {
  DATABASE_KINDS,
  eventually,
  startRedis,
  testDatabase,
  type RedisServer,
  type TestDatabase,
} from '#testing';
import { openDatabase, registerFiles } from '../../database/src/database.fixture.js';
import { PipelineOverview } from './pipeline-overview.js';

describe.each(DATABASE_KINDS)('the pipeline at a glance, on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  let redis: RedisServer;
  let queues: QueueManager;

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = await openDatabase(place.url);
    redis = await startRedis();
    queues = new QueueManager({
      ...{ url: redis.url, workerId: 'batcher-1', app: 'batcher', prefix: 'p' },
      ...{ logger: silentLogger, metrics: new Metrics() },
    });
    await queues.start();
    await joinPipeline(database, { sink: 'write', address: '/out', format: 'markdown' });
    await registerFiles(database, 10);
    await fill();
  }, 60_000);
  afterAll(async () => {
    await queues.closeConnections();
    await redis.stop();
    await database.stop();
    await place.remove();
  });

  const NOW = Date.now();
  const fill = (): Promise<void> =>
    database.inTransaction(async (tx) => {
      const run = (sql: string, params: unknown[] = []): Promise<number> => execute(tx, sql, params);
      await run("UPDATE files SET status = 'analyzed' WHERE name IN ('file-1', 'file-2', 'file-3')");
      await run(
        "UPDATE files SET status = 'skipped', skip_reason = 'binary', first_scanned_at = $1 WHERE name = 'file-4'",
        [NOW],
      );
      await run("UPDATE files SET status = 'failed' WHERE name IN ('file-5', 'file-6')");
      await run("UPDATE files SET removed = 1 WHERE name = 'file-7'");
      const batch = `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at, completed_at)
        VALUES ($1, 90, 100, $2, 'w', $3, $4)`;
      await run(batch, ['b1', 3, NOW, NOW]);
      await run(batch, ['b2', 2, NOW, null]);
      await run(batch, ['b0', 7, 1, 1]);
      const letter = `INSERT INTO dead_letters (queue, job_id, name, payload, reason, error_name, error_message, stack, fingerprint,
          attempts_made, last_worker_id, enqueued_at, failed_at, dead_lettered_at, status, resolved_at)
        VALUES ($1, $2, 'n', '{}', 'error', 'E', 'm', 's', 'f', 1, 'w', $3, $3, $3, $4, $5)`;
      await run(letter, ['q-a', 'e-b2', NOW, 'open', null]);
      await run(letter, ['q-a', 'f-1-1', NOW - 7_200_000, 'requeued', NOW]);
      await run(letter, ['q-b', 'f-2-1', NOW - 7_200_000, 'requeued', null]);
      const scan = `INSERT INTO scans (root_id, worker_id, fence, outcome, started_at, finished_at, counters)
        VALUES ((SELECT min(id) FROM roots), 'producer-1', 1, $1, $2, $3, $4)`;
      await run(scan, ['completed', 1, 2, '{"files":9}']);
      await run(scan, ['running', 3, null, '{"files":4,"folders":1,"enqueued":4}']);
    });

  it('tells of scans, files, batches, letters, throughput and the time to the end', async () => {
    const view = await new PipelineOverview({ database, queueNames: [] }).view();
    expect(view).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      destination: { sink: 'write', address: '/out' },
      scans: [
        {
          root: '/r',
          outcome: 'running',
          worker: 'producer-1',
          files: 4,
          enqueued: 4,
          errors: 0,
          expectedFiles: 9,
        },
      ],
      files: { pending: 3, processing: 0, batched: 0, analyzed: 3, skipped: 1, failed: 2 },
      bytes: { analyzed: 6, failed: 11 },
      batches: { total: 3, open: 1, meanFill: 0.9 },
      events: { pending: 0, dead: 0, oldestPendingMs: 0 },
      letters: { open: 1, requeued: 1, resolved: 1, discarded: 0 },
      queues: null,
      workers: null,
    });
    const sum = (what: 'delivered' | 'failed' | 'skipped'): number =>
      view.throughput.reduce((total, point) => total + point[what], 0);
    // The dead batch counts as its two files.
    expect([sum('delivered'), sum('failed'), sum('skipped')]).toEqual([3, 2, 1]);
    expect(view.remainingMs).toBeGreaterThan(0);
  });

  it('tells of the queues, and of who works on them', async () => {
    await queues.enqueueJobs('q-a', ANY_PAYLOAD, [
      { jobId: 'one', payload: {} },
      { jobId: 'two', payload: {} },
    ]);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const worker = queues.createWorker('q-a', ANY_PAYLOAD, () => held);
    await worker.start();
    const overview = new PipelineOverview({ database, queues, queueNames: ['q-a', 'q-b'] });
    await eventually(
      async () => {
        const { queues: seen, workers } = await overview.view();
        expect(seen).toEqual([
          {
            queue: 'q-a',
            waiting: 1,
            active: 1,
            delayed: 0,
            failed: 0,
            oldestWaitingMs: expect.any(Number),
            paused: false,
          },
          { queue: 'q-b', waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingMs: 0, paused: false },
        ]);
        expect(workers).toEqual([
          {
            id: 'batcher-1',
            app: 'batcher',
            state: 'alive',
            lastSeenAt: expect.any(Number),
            jobs: [{ queue: 'q-a', active: 1 }],
          },
        ]);
      },
      { timeoutMs: 30_000 },
    );
    expect(await overview.view(['q-b'])).toMatchObject({
      queues: [{ queue: 'q-b' }],
      letters: { open: 0, requeued: 1, resolved: 0 },
      workers: [{ jobs: [] }],
    });
    release();
    await worker.stop();
  }, 60_000);

  it('tells what the tables know while Redis is away', async () => {
    const overview = new PipelineOverview({ database, queues, queueNames: ['q-a'] });
    await redis.kill();
    expect(await overview.view()).toMatchObject({ queues: null, workers: null, files: { analyzed: 3 } });
    await redis.restart();
  }, 60_000);
});
