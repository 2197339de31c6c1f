import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig, type ConfigFault } from '#config';
import { RedisConfig } from '#redis';
import { LockConfig, lockSettings } from './lock.config.js';

const REDIS = Object.assign(new RedisConfig(), {
  REDIS_URL: 'redis://main',
  BREAKER_FAILURE_THRESHOLD: 3,
  BREAKER_COOLDOWN_MS: 77,
});

const load = (env: Record<string, string>): LockConfig =>
  loadConfig({ locks: LockConfig }, { env, cwd: '/nonexistent' }).locks;

function faultsOf(env: Record<string, string>): ConfigFault[] {
  try {
    load(env);
  } catch (error) {
    if (error instanceof ConfigError) return [...error.faults];
    throw error;
  }
  return [];
}

describe('lock configuration', () => {
  it('has the defaults of the design and falls back to the one Redis', () => {
    expect(lockSettings(load({}), REDIS)).toEqual({
      urls: ['redis://main'],
      keyPrefix: 'discovery-lock:',
      leaseMs: 30_000,
      renewalIntervalMs: 10_000,
      breaker: { failureThreshold: 3, cooldownMs: 77 },
    });
  });

  it('takes the lock nodes when they are named', () => {
    const config = load({ REDIS_LOCK_URLS: 'redis://a, rediss://b:6380,unix:///run/c.sock' });
    expect(lockSettings(config, REDIS).urls).toEqual(['redis://a', 'rediss://b:6380', 'unix:///run/c.sock']);
  });

  it('refuses a renewal interval that is not less than half of the lease', () => {
    const env = { LOCK_LEASE_MILLISECONDS: '20000', LOCK_RENEWAL_INTERVAL_MILLISECONDS: '10000' };
    expect(faultsOf(env).map(({ key }) => key)).toEqual([
      'LOCK_RENEWAL_INTERVAL_MILLISECONDS',
      'LOCK_LEASE_MILLISECONDS',
    ]);
    expect(faultsOf({ ...env, LOCK_RENEWAL_INTERVAL_MILLISECONDS: '9999' })).toEqual([]);
  });

  it.each([
    ['an even number of nodes', 'redis://a,redis://b'],
    ['the same node twice', 'redis://a,redis://a,redis://b'],
    ['a failover group as a node', 'redis+sentinel://a/main'],
    ['something that is no address', 'localhost'],
  ])('refuses %s', (_what, urls) => {
    expect(faultsOf({ REDIS_LOCK_URLS: urls }).map(({ key }) => key)).toEqual(['REDIS_LOCK_URLS']);
  });

  it('does not show the passwords of lock nodes in a fault', () => {
    const shown = JSON.stringify(faultsOf({ REDIS_LOCK_URLS: 'redis://:hunter2@a,redis://:hunter2@b' }));
    expect(shown).toContain('REDIS_LOCK_URLS');
    expect(shown).not.toContain('hunter2');
  });
});
