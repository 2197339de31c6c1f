import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { AddressInfo } from 'node:net';
import { loadConfig, type ConfigGroups } from '#config';
import { Database, DatabaseModule } from '#database';
import { QueueManager, QueueManagerModule, QueueWorker } from '#queue-manager';
import { down, Lifecycle, Metrics, PIPELINE, silentLogger, type Service } from '#service';
import { sharedRedis, testDatabase, type TestDatabase } from '#testing';
import { config as analyzer } from '../../apps/analyzer/src/analyzer.config.js';
import { AnalyzerModule } from '../../apps/analyzer/src/analyzer.module.js';
import { AnalyzerService } from '../../apps/analyzer/src/analyzer.service.js';
import { config as batcher } from '../../apps/batcher/src/batcher.config.js';
import { BatcherModule } from '../../apps/batcher/src/batcher.module.js';
import { BatcherService } from '../../apps/batcher/src/batcher.service.js';
import { AlertWebhook } from '../../apps/dlq-admin/src/alerts/webhook.service.js';
import { config as admin } from '../../apps/dlq-admin/src/dlq-admin.config.js';
import { DlqAdminModule } from '../../apps/dlq-admin/src/dlq-admin.module.js';
import { Intake } from '../../apps/dlq-admin/src/ingest/intake.service.js';
import { ServiceModule } from '../../libs/service/src/service.module.js';

const STORES = [DatabaseModule.fromConfig(), QueueManagerModule.fromConfig()];
const PARTS: [string, ConfigGroups, (Type | DynamicModule)[], Type<Service>][] = [
  ['analyzer', analyzer, [...STORES, AnalyzerModule], AnalyzerService],
  ['batcher', batcher, [...STORES, BatcherModule], BatcherService],
  ["dlq-admin's intake", admin, [DlqAdminModule], Intake],
  ["dlq-admin's webhook", admin, [DlqAdminModule], AlertWebhook],
];

describe('a worker that only a restart can help reaches /health/live', () => {
  let app: INestApplication;
  let store: TestDatabase;

  afterEach(async () => {
    jest.restoreAllMocks();
    await app.get(QueueManager).closeConnections();
    await app.get(Database).stop();
    await app.close();
    await store.remove();
  });

  it.each(PARTS)('of the %s', async (name, groups, modules, part) => {
    const redis = sharedRedis();
    store = await testDatabase('sqlite');
    const env = {
      REDIS_URL: redis.url,
      REDIS_PREFIX: redis.prefix,
      DATABASE_URL: store.url,
    };
    const config = loadConfig(groups, { env, cwd: '/nonexistent' });
    const parts: Service[] = [];
    const lifecycle = new Lifecycle(parts, { logger: silentLogger, startupTimeoutMs: 0 });
    const context = { logger: silentLogger, metrics: new Metrics(), identity: { app: name, workerId: 'w' } };
    const shared = ServiceModule.forRoot(context, lifecycle, groups, config);
    app = await NestFactory.create(
      { module: class Root {}, imports: [shared, ...modules] },
      { logger: false, abortOnError: false },
    );
    parts.push(app.get(part, { strict: false }));
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
    const live = (): Promise<Response> => fetch(`http://127.0.0.1:${port}/health/live`);
    for (const token of [Database, PIPELINE, QueueManager])
      await app.get<Service>(token).start(lifecycle.signal);
    expect((await live()).status).toBe(200);

    jest.spyOn(QueueWorker.prototype, 'liveness').mockReturnValue(down('fetches nothing'));
    const answer = await live();
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('fetches nothing');
  });
});
