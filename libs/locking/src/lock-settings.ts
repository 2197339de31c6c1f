import type { LockConfig } from './lock.config.js';

export interface LockSettings {
  urls: string[];
  keyPrefix: string;
  leaseMs: number;
  renewalIntervalMs: number;
}

/** The settings of the lock service from its configuration; one Redis when no lock nodes are named. */
export function lockSettings(config: LockConfig, redisUrl: string): LockSettings {
  return {
    urls: config.REDIS_LOCK_URLS ?? [redisUrl],
    keyPrefix: config.LOCK_KEY_PREFIX,
    leaseMs: config.LOCK_LEASE_MILLISECONDS,
    renewalIntervalMs: config.LOCK_RENEWAL_INTERVAL_MILLISECONDS,
  };
}
