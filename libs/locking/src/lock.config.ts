import { CrossRule, Int, List, OPTIONAL, Text } from '#config';
import { breakerOf, type RedisConfig } from '#redis';
import type { LockServiceOptions } from './lock.service.js';

const oddCount = ({ REDIS_LOCK_URLS: urls }: LockConfig): boolean => !urls || urls.length % 2 === 1;
const renewsInTime = (config: LockConfig): boolean =>
  config.LOCK_RENEWAL_INTERVAL_MILLISECONDS < config.LOCK_LEASE_MILLISECONDS / 2;

/** Where leases are kept and how long they last. The same values for the whole fleet. */
@CrossRule<LockConfig>(
  ['REDIS_LOCK_URLS'],
  'REDIS_LOCK_URLS must name an odd number of nodes: an even one tolerates no more failures and splits its votes',
  oddCount,
)
@CrossRule<LockConfig>(
  ['LOCK_RENEWAL_INTERVAL_MILLISECONDS', 'LOCK_LEASE_MILLISECONDS'],
  'LOCK_RENEWAL_INTERVAL_MILLISECONDS must be less than half of LOCK_LEASE_MILLISECONDS, so that one lost renewal does not lose the lease',
  renewsInTime,
)
export class LockConfig {
  @List(
    'Independent Redis nodes that vote on leases, with commas: a majority of them must agree. REDIS_URL alone unless given.',
    OPTIONAL,
    {
      each: (url) => /^(rediss?|unix):\/\/.+/.test(url),
      must: 'a single node: redis://…, rediss://… or unix://…',
      max: 15,
      unique: true,
      secret: 'url',
    },
  )
  REDIS_LOCK_URLS?: string[];

  @Int('Milliseconds a lease lasts unless it is renewed.', 30_000, [1_000, 3_600_000])
  LOCK_LEASE_MILLISECONDS!: number;

  @Int('Milliseconds between renewals of a held lease.', 10_000, [100, 1_800_000])
  LOCK_RENEWAL_INTERVAL_MILLISECONDS!: number;

  @Text('What the names of lock keys in Redis begin with.', 'discovery-lock:', {
    matches: /^.{0,100}$/s,
    must: 'at most 100 characters',
  })
  LOCK_KEY_PREFIX!: string;
}

/** The settings of the lock service from its configuration; one Redis when no lock nodes are named. */
export function lockSettings(config: LockConfig, redis: RedisConfig) {
  return {
    urls: config.REDIS_LOCK_URLS ?? [redis.REDIS_URL],
    keyPrefix: config.LOCK_KEY_PREFIX,
    leaseMs: config.LOCK_LEASE_MILLISECONDS,
    renewalIntervalMs: config.LOCK_RENEWAL_INTERVAL_MILLISECONDS,
    breaker: breakerOf(redis),
  } satisfies Partial<LockServiceOptions>;
}
