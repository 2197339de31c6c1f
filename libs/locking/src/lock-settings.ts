import { breakerOf, type BreakerOptions, type RedisConfig } from '#redis';
import type { LockConfig } from './lock.config.js';

interface LockSettings {
  urls: string[];
  keyPrefix: string;
  leaseMs: number;
  renewalIntervalMs: number;
  breaker: Partial<BreakerOptions>;
}

/** The settings of the lock service from its configuration; one Redis when no lock nodes are named. */
export function lockSettings(config: LockConfig, redis: RedisConfig): LockSettings {
  return {
    urls: config.REDIS_LOCK_URLS ?? [redis.REDIS_URL],
    keyPrefix: config.LOCK_KEY_PREFIX,
    leaseMs: config.LOCK_LEASE_MILLISECONDS,
    renewalIntervalMs: config.LOCK_RENEWAL_INTERVAL_MILLISECONDS,
    breaker: breakerOf(redis),
  };
}
