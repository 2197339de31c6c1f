import type { INestApplication } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#config';
import { BATCH_EVENT, DEAD_LETTER, FILE_JOB, QUEUE, type BatchEvent, type FileJob } from '#contracts';
import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManager, QueueManagerModule, type JobProcessor } from '#queue-manager';
import { createApp, Metrics, silentLogger, type Lifecycle } from '#service';
import { eventually, Random, sharedRedis, tempFolder, type TempFolder } from '#testing';
import { config as analyzer } from '../../apps/analyzer/src/analyzer.config.js';
import { ANALYZER_PARTS, AnalyzerModule } from '../../apps/analyzer/src/analyzer.module.js';
import { AnalyzerService } from '../../apps/analyzer/src/analyzer.service.js';
import { config as batcher } from '../../apps/batcher/src/batcher.config.js';
import { BATCHER_PARTS, BatcherModule } from '../../apps/batcher/src/batcher.module.js';
import { BatcherService } from '../../apps/batcher/src/batcher.service.js';
import { AlertWebhook, ALERTS_QUEUE } from '../../apps/dlq-admin/src/alerts/webhook.service.js';
import { Intake } from '../../apps/dlq-admin/src/ingest/intake.service.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from '../e2e/dlq-app.js';
import { cpuSeconds, hostileValue, seed, spoiled } from './hostile.js';

const JOBS = 60;
const FILE: FileJob = { filePath: '/tree/a.txt', fileSize: 3, fileId: 1, revision: 1, pathBytes: 'YQ==' };
const PART = {
  fileId: 1,
  revision: 1,
  path: '/tree/a.txt',
  tokens: 3,
  part: 1,
  parts: 1,
  start: 0,
  end: 3,
  hash: 'x',
};
const BATCH: BatchEvent = { id: 'b-1', totalTokens: 3, files: [PART] };

/** The fleet's consumers in this process, on one database and one Redis, fed with what nobody would send. */
describe(`the queues under fuzz (MILLRACE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const apps: { app: INestApplication; lifecycle: Lifecycle }[] = [];
  let folder: TempFolder;
  let admin: TestDlqAdmin;

  type Definition = Parameters<typeof createApp>[0];
  const start = async (name: string, definition: Definition, env: Record<string, string>): Promise<void> => {
    const given = {
      REDIS_URL: sharedRedis().url,
      REDIS_PREFIX: admin.prefix,
      DATABASE_URL: admin.databaseUrl,
      ...env,
    };
    const config = loadConfig(definition.config, { env: given, cwd: '/nonexistent' }) as never;
    const identity = { app: name, workerId: `${name}-${admin.prefix}` };
    const made = await createApp(definition, config, {
      logger: silentLogger,
      metrics: new Metrics(),
      identity,
    });
    apps.push(made);
    await made.app.init();
    await made.lifecycle.start();
  };

  beforeAll(async () => {
    folder = await tempFolder('fuzz-jobs');
    // Nobody listens there.
    const env = { ALERT_WEBHOOK_URL: 'https://127.0.0.1:1/', ALERT_WEBHOOK_ALLOW_PRIVATE: 'true' };
    admin = await startDlqAdmin('sqlite', { env });
    const shared = [Database, Pipeline, QueueManager];
    const stores = [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig()];
    const batching = {
      config: batcher,
      imports: [...stores, BatcherModule],
      services: [...shared, ...BATCHER_PARTS],
    };
    const analysing = {
      config: analyzer,
      imports: [...stores, AnalyzerModule],
      services: [...shared, ...ANALYZER_PARTS],
    };
    await start('batcher', batching, { BATCHER_THREADS: '1' });
    await start('analyzer', analysing, { OUTPUT_DIRECTORY: folder.path });
  }, 90_000);
  afterAll(async () => {
    for (const { app, lifecycle } of apps) {
      await lifecycle.stop();
      await app.close();
    }
    await admin.stop();
    await folder.remove();
  });

  const payloads = (good: object): unknown[] =>
    Array.from({ length: JOBS }, () =>
      random.next() < 0.5 ? spoiled(good, random) : hostileValue(random, Object.keys(good)),
    );
  /** Sends, and waits until none is left to do; in seconds of processor time for each job. */
  const work = (queue: string, jobs: readonly unknown[]): Promise<number> =>
    cpuSeconds(async () => {
      const items = jobs.map((data, n) => ({ name: 'fuzz', data, opts: { jobId: `z-${seed}-${n}` } }));
      await admin.queues.getQueue(queue).addBulk(items);
      const left = (): Promise<number> => admin.queues.getQueue(queue).unfinished();
      await eventually(async () => expect([seed, await left()]).toEqual([seed, 0]), { timeoutMs: 60_000 });
    }).then((seconds) => seconds / jobs.length);
  const up = (
    app: { get(type: never): JobProcessor<unknown> } | undefined,
    type: unknown,
  ): string | undefined => app?.get(type as never).health().status;
  const invalid = async (queue: string): Promise<number> =>
    (await admin.client.count({ queue, reason: 'invalid' })).count;

  it.each([
    [QUEUE.filesToBatch, FILE_JOB, FILE, BatcherService, 0],
    [QUEUE.fileAnalysis, BATCH_EVENT, BATCH, AnalyzerService, 1],
  ] as const)(
    'give up what breaks the contract of %s at once, as invalid',
    async (queue, contract, good, type, at) => {
      const jobs = payloads(good);
      // As it comes out of the queue: what JSON cannot carry is not there any more.
      const carried = JSON.parse(JSON.stringify(jobs)) as unknown[];
      const broken = carried.filter((job) => contract.faultsOf(job).length > 0).length;
      expect(broken).toBeGreaterThan(JOBS / 4);
      expect(await work(queue, jobs)).toBeLessThan(1);
      await eventually(async () => expect([seed, await invalid(queue)]).toEqual([seed, broken]), {
        timeoutMs: 30_000,
      });
      expect(up(apps[at]?.app as never, type)).toBe('up');
    },
    120_000,
  );

  it('take in whatever lies in the dead-letter queue', async () => {
    const before = (await admin.client.count()).count;
    const jobs = payloads(deadLetter());
    expect(jobs.some((job) => DEAD_LETTER.faultsOf(job).length > 0)).toBe(true);
    expect(await work(QUEUE.deadLetter, jobs)).toBeLessThan(1);
    expect((await admin.client.count()).count).toBeGreaterThan(before + JOBS / 2);
    expect(up(admin.app as never, Intake)).toBe('up');
  }, 120_000);

  it('give up an alert that nobody takes, whatever it holds', async () => {
    expect(await work(ALERTS_QUEUE, payloads({ kind: 'rate', queue: 'q' }))).toBeLessThan(1);
    const given = async (): Promise<number> => (await admin.client.count({ queue: ALERTS_QUEUE })).count;
    await eventually(async () => expect([seed, await given()]).toEqual([seed, JOBS]), { timeoutMs: 30_000 });
    expect(up(admin.app as never, AlertWebhook)).toBe('up');
  }, 120_000);
});
