import { afterEach, describe, expect, it } from '@jest/globals';
import type { Pipeline } from '#database';
import { RedisConfig, type RedisClient } from '#redis';
import { systemClock } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { RateLimits } from './rate-limits.service.js';

describe('rate limits', () => {
  let limits: RateLimits | undefined;
  afterEach(() => limits?.stop());

  it('leave a Redis that does not answer alone for the configured cooldown', async () => {
    const redis = Object.assign(new RedisConfig(), {
      REDIS_URL: 'redis://127.0.0.1:1',
      BREAKER_FAILURE_THRESHOLD: 2,
      BREAKER_COOLDOWN_MS: 9_000,
    });
    limits = new RateLimits(redis, new DlqAdminConfig(), {} as Pipeline, systemClock);
    await limits.start();
    const { client } = limits as unknown as { client: RedisClient };
    const { retryStrategy } = client.options as { retryStrategy: (attempts: number) => number };
    expect(retryStrategy(2)).toBeGreaterThanOrEqual(4_500);
  });
});
