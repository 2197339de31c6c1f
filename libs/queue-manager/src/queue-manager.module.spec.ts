import { describe, expect, it } from '@jest/globals';
import { Global, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RedisConfig } from '#redis';
import { IDENTITY, LOGGER, Metrics, PIPELINE, silentLogger } from '#service';
import { QueueManager } from './queue-manager.js';
import { QueueManagerModule } from './queue-manager.module.js';

const CONFIG: RedisConfig = {
  REDIS_URL: 'redis://127.0.0.1:1',
  REDIS_PREFIX: '{site}',
  REDIS_EVICTION_POLICY: 'warn',
  DLQ_NAME: 'letters-of-site-b',
  JOB_ATTEMPTS: 9,
  BREAKER_FAILURE_THRESHOLD: 3,
  BREAKER_COOLDOWN_MS: 77,
  MILLRACE_TEST_HASTE: 2,
};

const provided = [
  { provide: RedisConfig, useValue: CONFIG },
  { provide: LOGGER, useValue: silentLogger },
  { provide: Metrics, useValue: new Metrics() },
  { provide: IDENTITY, useValue: { app: 'batcher', workerId: 'w-1' } },
  { provide: PIPELINE, useValue: { prefixed: (prefix: string) => `${prefix}:p` } },
];

@Global()
@Module({ providers: provided, exports: provided.map(({ provide }) => provide) })
class SharedModule {}

describe('the queue manager of an app', () => {
  it('has every setting that its configuration names', async () => {
    const module = await Test.createTestingModule({
      imports: [SharedModule, QueueManagerModule.fromConfig()],
    }).compile();
    expect(module.get(QueueManager).settings).toMatchObject({
      prefix: '{site}:p',
      evictionPolicy: 'warn',
      deadLetterQueue: 'letters-of-site-b',
      attempts: 9,
      breaker: { failureThreshold: 3, cooldownMs: 77 },
      times: { lockMs: 5_000, stalledCheckMs: 2_500 },
      workerId: 'w-1',
    });
    await module.get(QueueManager).closeConnections();
  });
});
