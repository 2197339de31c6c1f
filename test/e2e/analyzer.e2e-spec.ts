import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BATCH_EVENT, QUEUE, type BatchEvent } from '#contracts';
import { Database, queryRows } from '#database';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import {
  DATABASE_KINDS,
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
import { AnalyzerApp } from './analyzer-app.js';
import { RecordingAnalyser } from './recording-analyser.js';
import { seedBatch } from './seeded-batch.js';

const FAULT_POINTS = ['analyzer.after-deliver', 'analyzer.inside-transaction', 'analyzer.after-commit'];

describe.each(DATABASE_KINDS)('analyzer on %s', (kind) => {
  let place: TestDatabase;
  let folder: TempFolder;
  let database: Database;
  let queues: QueueManager;
  let analyser: RecordingAnalyser;
  let env: Record<string, string>;
  const children: Child[] = [];
  const apps: AnalyzerApp[] = [];

  beforeEach(async () => {
    const redis = sharedRedis();
    place = await testDatabase(kind);
    folder = await tempFolder('analyzer');
    analyser = await RecordingAnalyser.start();
    const parts = { logger: silentLogger, metrics: new Metrics() };
    database = new Database({ url: place.url, ...parts });
    await database.start();
    queues = new QueueManager({ ...(await pipelineRedis(redis, place.url)), workerId: 'test', ...parts });
    await queues.start();
    env = {
      REDIS_URL: redis.url,
      REDIS_PREFIX: redis.prefix,
      DATABASE_URL: place.url,
      PATH_BASE: folder.path,
      MILLRACE_TEST_HASTE: '10',
    };
  });

  afterEach(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL');
    for (const app of apps.splice(0)) await app.stop();
    await queues.closeConnections();
    await database.stop();
    await analyser.stop();
    await place.remove();
    await folder.remove();
  });

  const start = async (more: Record<string, string>): Promise<AnalyzerApp> => {
    const app = await AnalyzerApp.start({ ...env, ...more });
    apps.push(app);
    return app;
  };
  const spawn = (more: Record<string, string>): Child => {
    const child = spawnApp('analyzer', { ...env, ...more });
    children.push(child);
    return child;
  };
  const http = (): Record<string, string> => ({ SINK: 'http', ANALYZER_URL: analyser.url });
  const enqueue = (batch: BatchEvent): Promise<void> =>
    queues.enqueueJob(QUEUE.fileAnalysis, BATCH_EVENT, batch, { jobId: `e-${batch.id}` });
  const rows = <Row extends object>(sql: string): Promise<Row[]> =>
    database.read((manager) => queryRows<Row>(manager, sql));
  const states = async (): Promise<string[]> =>
    (await rows<{ status: string }>('SELECT status FROM files ORDER BY name')).map(({ status }) => status);
  const delivered = (count: number): Promise<unknown> =>
    eventually(
      async () =>
        expect(await rows('SELECT id FROM batches WHERE completed_at IS NOT NULL')).toHaveLength(count),
      { timeoutMs: 40_000 },
    );

  it('delivers a batch, records it and announces it, in one transaction', async () => {
    const batch = await seedBatch(database, folder.path, { a: 'alpha', b: 'beta' });
    await start(http());
    await enqueue(batch);
    await delivered(1);
    expect(
      analyser.requests.map(({ key, files }) => [
        key,
        files.map(({ path, content }) => `${path}=${content}`),
      ]),
    ).toEqual([[expect.stringContaining(batch.id), ['a=alpha', 'b=beta']]]);
    expect(await states()).toEqual(['analyzed', 'analyzed']);
    expect(await rows('SELECT answer FROM batches')).toEqual([{ answer: '{"ok":true}' }]);
    expect(
      (await rows<{ payload: string }>('SELECT payload FROM outbox')).map(
        ({ payload }) => JSON.parse(payload) as unknown,
      ),
    ).toEqual([expect.objectContaining({ batchId: batch.id, items: 2 })]);
  });

  it('sends what its rows say, whatever an edited event says', async () => {
    const batch = await seedBatch(database, folder.path, { a: 'alpha' });
    const [file] = batch.files;
    const secret = join(folder.path, 'secret');
    await writeFile(secret, 'SECRET');
    const hash = createHash('sha256').update('SECRET').digest('hex');
    await start(http());
    await enqueue({ ...batch, files: [{ ...file!, path: secret, end: 6, hash }] });
    await delivered(1);
    // As a letter is requeued whose list of files was too long to be kept.
    await enqueue({ ...(await seedBatch(database, folder.path, { b: 'beta' })), files: [] });
    await delivered(2);
    expect(
      analyser.requests.flatMap(({ files }) => files.map(({ path, content }) => `${path}=${content}`)),
    ).toEqual(['a=alpha', 'b=beta']);
  });

  it('has one effect however often the batch is delivered', async () => {
    const batch = await seedBatch(database, folder.path, { a: 'alpha' });
    for (const copy of ['x', 'y', 'z'])
      await queues.enqueueJob(QUEUE.fileAnalysis, BATCH_EVENT, batch, { jobId: copy });
    await start({ ...http(), ANALYZER_CONCURRENCY: '3' });
    await delivered(1);
    await eventually(async () =>
      expect(await queues.getQueue(QUEUE.fileAnalysis).counts()).toMatchObject({ waiting: 0, active: 0 }),
    );
    expect(analyser.effects.size).toBe(1);
    expect(await rows('SELECT id FROM outbox')).toHaveLength(1);
  });

  it('killed at each of its steps, one after the other, has no second effect and no second record', async () => {
    const batches: BatchEvent[] = [];
    for (const point of FAULT_POINTS) {
      const batch = await seedBatch(database, folder.path, { [`at-${point}`]: point });
      batches.push(batch);
      const doomed = spawn({ ...http(), MILLRACE_FAULT: `${point}:1:kill` });
      await enqueue(batch);
      expect({ point, ...(await doomed.exited) }).toMatchObject({ point, signal: 'SIGKILL' });
    }
    // The jobs themselves come back when their locks have expired; copies spare the test that wait.
    for (const batch of batches)
      await queues.enqueueJob(QUEUE.fileAnalysis, BATCH_EVENT, batch, { jobId: `copy-${batch.id}` });
    await start(http());
    await delivered(batches.length);
    await eventually(async () =>
      expect(await queues.getQueue(QUEUE.fileAnalysis).counts()).toMatchObject({ waiting: 0 }),
    );
    expect([...analyser.effects.values()].map(({ batchId }) => batchId).sort()).toEqual(
      batches.map(({ id }) => id).sort(),
    );
    expect(await rows('SELECT id FROM outbox')).toHaveLength(batches.length);
    expect(await states()).toEqual(batches.map(() => 'analyzed'));
  }, 120_000);

  it('does not send what changed since it was counted, and queues it again as a new revision', async () => {
    const batch = await seedBatch(database, folder.path, { a: 'alpha', b: 'beta', c: 'gamma' });
    await writeFile(join(folder.path, 'b'), 'BETA');
    await rm(join(folder.path, 'c'));
    const app = await start(http());
    await enqueue(batch);
    await delivered(1);
    expect(analyser.requests[0]?.files.map(({ path }) => path)).toEqual(['a']);
    expect(await rows('SELECT name, revision, status, skip_reason FROM files ORDER BY name')).toEqual([
      { name: 'a', revision: 1, status: 'analyzed', skip_reason: null },
      { name: 'b', revision: 2, status: 'pending', skip_reason: null },
      { name: 'c', revision: 1, status: 'skipped', skip_reason: 'vanished' },
    ]);
    await app.output('files changed since they were counted');
  });

  it('waits for a busy analyser without using up attempts', async () => {
    analyser.busy = 3;
    const batch = await seedBatch(database, folder.path, { a: 'alpha' });
    await start({ ...http(), JOB_ATTEMPTS: '2' });
    await enqueue(batch);
    await delivered(1);
    expect(analyser.requests).toHaveLength(1);
  });

  it('dead-letters a batch that fails again and again while others pass', async () => {
    const [bad, ...good] = await Promise.all(
      ['bad', 'x', 'y'].map((name) => seedBatch(database, folder.path, { [name]: name })),
    );
    analyser.failing = bad!.id;
    await start({ ...http(), JOB_ATTEMPTS: '2', ANALYZER_CONCURRENCY: '1' });
    for (const batch of [bad!, ...good]) await enqueue(batch);
    await delivered(2);
    await eventually(
      async () => expect(await queues.getQueue(QUEUE.deadLetter).counts()).toMatchObject({ waiting: 1 }),
      {
        timeoutMs: 40_000,
      },
    );
  });

  it('waits for an output folder that cannot be written, says so, and goes on when it can', async () => {
    const out = join(folder.path, 'out');
    await writeFile(out, 'in its place');
    const batch = await seedBatch(database, folder.path, { a: 'alpha' });
    const app = await start({ SINK: 'write', OUTPUT_DIRECTORY: out, JOB_ATTEMPTS: '1' });
    await enqueue(batch);
    await app.output('the destination takes no batches; waiting for it');
    await rm(out);
    await delivered(1);
    expect(await queues.getQueue(QUEUE.deadLetter).counts()).toMatchObject({ waiting: 0 });
  });

  it('writes batch files and a manifest of them', async () => {
    const out = join(folder.path, 'out');
    const batch = await seedBatch(database, folder.path, { a: 'alpha' });
    const child = spawn({ SINK: 'write', OUTPUT_DIRECTORY: out, OUTPUT_FORMAT: 'jsonl' });
    await enqueue(batch);
    await delivered(1);
    expect(await child.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await readdir(out)).sort()).toEqual([`batch-${batch.id}.jsonl`, 'manifest.json']);
    expect(JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'))).toEqual({
      format: 'jsonl',
      batches: [
        {
          id: batch.id,
          file: `batch-${batch.id}.jsonl`,
          tokens: 1,
          items: 1,
          files: [{ path: 'a', revision: 1, part: 1, parts: 1, tokens: 1, outcome: 'delivered' }],
        },
      ],
    });
  });

  it('dead-letters a batch that the database does not know', async () => {
    await start(http());
    await enqueue({
      id: 'stranger',
      totalTokens: 1,
      files: [
        { fileId: 1, revision: 1, path: '/x', tokens: 1, part: 1, parts: 1, start: 0, end: 1, hash: 'h' },
      ],
    });
    await eventually(async () =>
      expect(await queues.getQueue(QUEUE.deadLetter).counts()).toMatchObject({ waiting: 1 }),
    );
    expect(analyser.requests).toEqual([]);
  });
});
