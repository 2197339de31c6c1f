import type { INestApplication } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '#config';
import { DEAD_LETTER, type DeadLetter } from '#contracts';
import { Database } from '#database';
import { DlqClient, type NewKeyRequest } from '#dlq-client';
import { deadLetterId, QueueManager } from '#queue-manager';
import { createApp, Metrics, silentLogger, type Logger } from '#service';
import { sharedRedis, testDatabase, type DatabaseKind } from '#testing';
import { config as groups } from '../../apps/dlq-admin/src/dlq-admin.config.js';
import { DlqAdminModule, SERVICES } from '../../apps/dlq-admin/src/dlq-admin.module.js';
import { configureHttp } from '../../apps/dlq-admin/src/http/configure.js';
import { ApiContract } from './dlq-contract.js';

export interface TestDlqAdmin {
  app: INestApplication;
  url: string;
  database: Database;
  queues: QueueManager;
  prefix: string;
  databaseUrl: string;
  /** As ADMIN_KEY. */
  client: DlqClient;
  adminKey: string;
  /** The header that proves ADMIN_KEY. */
  authorization: string;
  get<T>(token: abstract new (...args: never[]) => T): T;
  /** Makes a key and returns a client that uses it. */
  withKey(request: Partial<NewKeyRequest>): Promise<{ key: string; id: string; client: DlqClient }>;
  /** Puts dead letters into the queue as the queue manager would. */
  send(letters: readonly DeadLetter[]): Promise<void>;
  stop(): Promise<void>;
}

/** dlq-admin in this process, on a database and a Redis prefix of its own. */
export async function startDlqAdmin(
  kind: DatabaseKind = 'sqlite',
  { env = {}, logger = silentLogger }: { env?: Record<string, string>; logger?: Logger } = {},
): Promise<TestDlqAdmin> {
  const redis = sharedRedis();
  const adminKey = env.ADMIN_KEY ?? randomBytes(24).toString('base64url');
  const database = await testDatabase(kind);
  const config = loadConfig(groups, {
    env: {
      REDIS_URL: redis.url,
      REDIS_PREFIX: redis.prefix,
      DATABASE_URL: database.url,
      PORT: '0',
      STARTUP_TIMEOUT_MS: '20000',
      SAMPLE_INTERVAL_MS: '3600000',
      RATE_LIMIT_PER_MINUTE: '1000000',
      ADMIN_KEY: adminKey,
      ...env,
    },
    cwd: '/nonexistent',
  });
  const contract = new ApiContract();
  const { app, lifecycle } = await createApp(
    {
      config: groups,
      imports: [DlqAdminModule],
      services: SERVICES,
      configure: (created, { admin }) => {
        created.use(contract.middleware);
        configureHttp(created, admin);
      },
    },
    config,
    {
      logger,
      metrics: new Metrics(),
      identity: { app: 'dlq-admin', workerId: `dlq-admin-${redis.prefix}` },
    },
  );
  contract.of(app);
  await app.listen(config.service.PORT, config.service.HOST);
  await lifecycle.start();
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  const url = `http://127.0.0.1:${port}`;
  const queues = app.get(QueueManager);
  const client = new DlqClient({ url, key: adminKey });
  return {
    app,
    url,
    queues,
    client,
    adminKey,
    authorization: `Bearer ${adminKey}`,
    prefix: redis.prefix,
    databaseUrl: database.url,
    database: app.get(Database),
    get: (token) => app.get(token as never),
    withKey: async (request) => {
      const made = await client.createKey({ name: 'test', role: 'admin', ...request });
      return { key: made.key, id: made.id, client: new DlqClient({ url, key: made.key }) };
    },
    send: (letters) => sendLetters(queues, letters),
    stop: async () => {
      await lifecycle.stop();
      await app.close();
      await database.remove();
      // Whatever the test was about, its answers were as the document says.
      if (contract.breaches.length > 0) throw new Error(contract.breaches.slice(0, 20).join('\n'));
    },
  };
}

export function sendLetters(queues: QueueManager, letters: readonly DeadLetter[]): Promise<void> {
  return queues.enqueueJobs(
    queues.settings.deadLetterQueue,
    DEAD_LETTER,
    letters.map((payload) => ({ payload, jobId: deadLetterId(payload), attempts: 100 })),
  );
}

let next = 1;

/** A dead letter that differs from every other one made here. */
export function deadLetter(given: Partial<DeadLetter> = {}): DeadLetter {
  const number = next++;
  const error = given.errorMessage ?? `cannot read /data/file-${number}.txt after ${number} ms`;
  const name = given.errorName ?? 'Error';
  return {
    queue: 'test-queue',
    jobId: `job-${number}`,
    jobName: 'test job',
    data: { n: number, user: { id: `u${number % 7}`, name: `User ${number}` } },
    options: { attempts: 3 },
    reason: 'error',
    errorName: name,
    errorMessage: error,
    stack: `${name}: ${error}\n    at node:internal/fs:12:3\n    at readChunk (file:///srv/app/dist/apps/batcher/src/reader.js:${number % 50}:7)\n    at run (/srv/node_modules/bullmq/worker.js:1:1)`,
    attemptsMade: 3,
    attempts: [1, 2, 3].map((attempt) => ({
      attempt,
      error: `${name}: ${error}`,
      at: 1_700_000_000_000 + attempt,
    })),
    lastWorkerId: `worker-${number % 3}`,
    enqueuedAt: Date.now() - 60_000,
    failedAt: Date.now(),
    deadLetteredAt: Date.now(),
    ...given,
  };
}
