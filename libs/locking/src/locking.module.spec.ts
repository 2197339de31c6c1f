import { describe, expect, it } from '@jest/globals';
import { Module, type DynamicModule } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RedisConfig } from '#redis';
import { Database } from '#database';
import { CLOCK, IDENTITY, LOGGER, Metrics, PIPELINE, silentLogger, systemClock } from '#service';
import { LockConfig, LockingModule, LockService } from './index.js';

@Module({})
class Shared {}

const config = Object.assign(new LockConfig(), {
  LOCK_LEASE_MILLISECONDS: 9_000,
  LOCK_RENEWAL_INTERVAL_MILLISECONDS: 3_000,
  LOCK_KEY_PREFIX: 'p:',
});

function shared(): DynamicModule {
  const providers = [
    { provide: LOGGER, useValue: silentLogger },
    { provide: Metrics, useValue: new Metrics() },
    { provide: IDENTITY, useValue: { app: 'test', workerId: 'test-1' } },
    { provide: CLOCK, useValue: systemClock },
    { provide: LockConfig, useValue: config },
    {
      provide: RedisConfig,
      useValue: Object.assign(new RedisConfig(), { REDIS_URL: 'redis://127.0.0.1:1' }),
    },
    { provide: Database, useValue: {} },
    { provide: PIPELINE, useValue: { prefixed: (base: string) => base } },
  ];
  return { module: Shared, global: true, providers, exports: providers.map(({ provide }) => provide) };
}

describe('locking module', () => {
  it('gives one lock service, made from the configuration, that has not connected', async () => {
    const app = await Test.createTestingModule({ imports: [shared(), LockingModule] }).compile();
    const locks = app.get(LockService);
    expect(locks.name).toBe('locks');
    expect(locks.isRunning).toBe(false);
    await expect(locks.acquire('root')).rejects.toMatchObject({ code: 'LOCK_SERVICE_STOPPED' });
    await app.close();
  });
});
