import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FILE_JOB, QUEUE } from '#contracts';
import { execute, queryRows, type Database } from '#database';
import type { JobQueue, QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import { DATABASE_KINDS, eventually, sharedRedis, testDatabase, type TestDatabase } from '#testing';
import type { BatcherConfig } from '../batcher.config.js';
import {
  enqueueFiles,
  fileJobOf,
  openDatabase,
  openQueues,
  registerFiles,
  type Registered,
} from '../batcher.fixture.js';
import { ReconcilerService } from './reconciler.service.js';

const CONFIG = {
  PATH_DISCOVERY_QUEUE: QUEUE.filesToBatch,
  RECOVERY_INTERVAL_MS: 50,
  RECOVERY_AGE_MS: 1_000,
  CLAIM_LEASE_MS: 30_000,
  MAX_CLAIMS: 10,
} as BatcherConfig;

describe.each(DATABASE_KINDS)('ReconcilerService on %s', (kind) => {
  let store: TestDatabase;
  let database: Database;
  let queues: QueueManager;
  let files: Registered[];

  beforeAll(async () => {
    store = await testDatabase(kind);
    database = await openDatabase(store.url);
  });
  afterAll(async () => {
    await database.stop();
    await store.remove();
  });
  beforeEach(async () => {
    queues = await openQueues(sharedRedis());
    await database.inTransaction((tx) => execute(tx, 'DELETE FROM files'));
    files = await registerFiles(
      database,
      Array.from({ length: 25 }, (_, n) => `/f${n}`),
    );
  });
  afterEach(() => queues.closeConnections());

  const reconciler = (
    workerId = 'me',
    config: Partial<BatcherConfig> = {},
    jobs = queues.getQueue(QUEUE.filesToBatch),
  ): ReconcilerService =>
    new ReconcilerService(
      { ...CONFIG, ...config },
      jobs,
      queues,
      database,
      { app: 'batcher', workerId },
      silentLogger,
      new Metrics(),
    );
  const set = (sql: string): Promise<number> =>
    database.inTransaction((tx) => execute(tx, `UPDATE files SET ${sql}`));
  const rows = <Row extends object>(sql: string): Promise<Row[]> =>
    database.read((manager) => queryRows<Row>(manager, sql));
  const waitingIds = async (): Promise<string[]> =>
    (await queues.getQueue(QUEUE.filesToBatch).getJobs(['wait'])).map((job) => job.id ?? '').sort();
  const allIds = (): string[] => files.map((file) => fileJobOf(file).jobId).sort();
  const statuses = (): Promise<{ status: string; n: number }[]> =>
    rows(
      'SELECT status, count(*) AS n FROM files WHERE worker_id IS NULL AND enqueued_at > 0 GROUP BY status',
    );

  it('enqueues at its first look what was never enqueued, with what the job needs', async () => {
    await reconciler().tick();
    expect(await waitingIds()).toEqual(allIds());
    const job = await queues.getQueue(QUEUE.filesToBatch).getJob(fileJobOf(files[0]!).jobId);
    expect(FILE_JOB.parse(job?.data)).toMatchObject(fileJobOf(files[0]!).payload);
    expect(await statuses()).toEqual([{ status: 'pending', n: 25 }]);
  });

  it('enqueues at its first look what another Redis had, however recently', async () => {
    await set(`enqueued_at = ${Date.now()}`);
    await reconciler().tick();
    expect(await waitingIds()).toEqual(allIds());
  });

  it('enqueues again what Redis lost while it ran', async () => {
    await enqueueFiles(queues, database, files);
    const one = reconciler();
    await one.tick();
    await queues.getQueue(QUEUE.filesToBatch).obliterate({ force: true });
    await eventually(async () => {
      await one.tick();
      expect(await waitingIds()).toEqual(allIds());
    });
  });

  it('enqueues again the one job that is missing among many', async () => {
    await enqueueFiles(queues, database, files);
    await queues.getQueue(QUEUE.filesToBatch).remove(fileJobOf(files[7]!).jobId);
    await reconciler().tick();
    expect(await waitingIds()).toEqual(allIds());
  });

  it('leaves files alone whose job waits', async () => {
    await enqueueFiles(queues, database, files);
    const before = await rows('SELECT id, status, enqueued_at FROM files ORDER BY id');
    await reconciler().tick();
    expect(await rows('SELECT id, status, enqueued_at FROM files ORDER BY id')).toEqual(before);
    expect(await waitingIds()).toEqual(allIds());
  });

  it('leaves alone what its producer is about to enqueue, and enqueues it when that never happens', async () => {
    const one = reconciler('me', { RECOVERY_AGE_MS: 300 });
    await set("status = 'batched'");
    await one.tick();
    await set("status = 'pending'");
    await one.tick();
    expect(await waitingIds()).toEqual([]);
    await eventually(async () => {
      await one.tick();
      expect(await waitingIds()).toEqual(allIds());
    });
  });

  it('takes over what a dead reconciler had claimed', async () => {
    await set("status = 'processing', worker_id = 'dead', claimed_until = 1");
    await reconciler().tick();
    expect(await waitingIds()).toEqual(allIds());
    expect(await statuses()).toEqual([{ status: 'pending', n: 25 }]);
  });

  it('hands back what it has claimed when Redis goes away before it is enqueued', async () => {
    const away = Object.create(queues.getQueue(QUEUE.filesToBatch), {
      enqueue: { value: () => Promise.reject(new Error('Redis is away')) },
    }) as JobQueue;
    await expect(reconciler('me', {}, away).tick()).rejects.toThrow('Redis is away');
    expect(await rows(`SELECT id FROM files WHERE status <> 'pending'`)).toEqual([]);
    await reconciler('other').tick();
    expect(await waitingIds()).toEqual(allIds());
  });

  it('leaves alone what another reconciler has claimed', async () => {
    await set(`status = 'processing', worker_id = 'other', claimed_until = ${Date.now() + 60_000}`);
    await reconciler().tick();
    expect(await waitingIds()).toEqual([]);
  });

  it('leaves alone files that are done', async () => {
    await set("status = 'batched'");
    await reconciler().tick();
    expect(await waitingIds()).toEqual([]);
  });

  it('puts one job a file into the queue when many look at the same time', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => reconciler(id).tick()));
    expect(await waitingIds()).toEqual(allIds());
    await eventually(async () => expect(await statuses()).toEqual([{ status: 'pending', n: 25 }]));
  });

  it('enqueues a waiting file whose job Redis remembers as completed', async () => {
    await enqueueFiles(queues, database, files);
    const worker = queues.createWorker(QUEUE.filesToBatch, FILE_JOB, async () => {}, { concurrency: 10 });
    await worker.start();
    await eventually(async () =>
      expect((await queues.getQueue(QUEUE.filesToBatch).counts()).completed).toBe(25),
    );
    await worker.stop();
    await set('enqueued_at = 1');
    await reconciler().tick();
    expect(await waitingIds()).toEqual(allIds());
  });

  it('calls a file failed whose dead letter nobody has read, and does not run it again', async () => {
    await queues
      .getQueue(QUEUE.deadLetter)
      .add('dead letter', { queue: QUEUE.filesToBatch, jobId: fileJobOf(files[0]!).jobId });
    await reconciler().tick();
    expect(await waitingIds()).toEqual(allIds().filter((id) => id !== fileJobOf(files[0]!).jobId));
    expect(await rows(`SELECT status FROM files WHERE id = ${files[0]!.id}`)).toEqual([{ status: 'failed' }]);
  });

  describe('with jobs of many files', () => {
    const payloads = async (): Promise<{ files: { fileId: number }[] }[]> =>
      (await queues.getQueue(QUEUE.filesToBatch).getJobs(['wait'])).map(
        ({ data }) => data as { files: { fileId: number }[] },
      );
    /** The files that the waiting jobs bring, of those that their rows say they do. */
    const brought = async (): Promise<number[]> => {
      const jobs = await queues.getQueue(QUEUE.filesToBatch).getJobs(['wait']);
      const named = await rows<{ id: number; job_id: string }>('SELECT id, job_id FROM files');
      return jobs
        .flatMap(({ id, data }) =>
          (data as { files: { fileId: number }[] }).files.filter(({ fileId }) =>
            named.some((row) => Number(row.id) === fileId && row.job_id === id),
          ),
        )
        .map(({ fileId }) => fileId)
        .sort((a, b) => a - b);
    };
    const all = (): number[] => files.map(({ id }) => id).sort((a, b) => a - b);

    it('asks for jobs, not for files, and leaves alone those that wait', async () => {
      await enqueueFiles(queues, database, files, 7);
      const before = await rows('SELECT id, status, enqueued_at, job_id FROM files ORDER BY id');
      await reconciler().tick();
      expect(await rows('SELECT id, status, enqueued_at, job_id FROM files ORDER BY id')).toEqual(before);
      expect(await payloads()).toHaveLength(4);
    });

    it('brings each file of a lost job, though no look sees all of them', async () => {
      await enqueueFiles(queues, database, files, 25);
      await queues.getQueue(QUEUE.filesToBatch).obliterate({ force: true });
      await reconciler().tick();
      expect(await brought()).toEqual(all());
      expect((await payloads()).map((job) => job.files.length).sort()).toEqual([10, 10, 5].sort());
    });

    it('enqueues again only the files of a lost job that still wait', async () => {
      const [first] = await enqueueFiles(queues, database, files, 7);
      await set(`status = 'batched' WHERE id = ${files[0]!.id}`);
      await queues.getQueue(QUEUE.filesToBatch).remove(first!);
      await reconciler().tick();
      const sizes = (await payloads()).map((job) => job.files.length);
      expect(sizes.reduce((sum, n) => sum + n)).toBe(24);
      expect(await brought()).toEqual(all().filter((id) => id !== files[0]!.id));
    });

    it('goes on with the files of a job that is dead-lettered as a whole: what fails is a file', async () => {
      const [first] = await enqueueFiles(queues, database, files, 25);
      await queues.getQueue(QUEUE.filesToBatch).obliterate({ force: true });
      await queues.getQueue(QUEUE.deadLetter).add('dead letter', { queue: QUEUE.filesToBatch, jobId: first });
      await reconciler().tick();
      expect(await brought()).toEqual(all());
    });
  });

  it('runs as a loop until it is stopped', async () => {
    const one = reconciler();
    await one.start();
    await eventually(async () => expect(await waitingIds()).toEqual(allIds()));
    await one.stop();
    await one.stop();
    await queues.getQueue(QUEUE.filesToBatch).obliterate({ force: true });
    expect(await waitingIds()).toEqual([]);
  });
});
