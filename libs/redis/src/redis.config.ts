import { Choice, Int, OPTIONAL, QueueName, RedisUrl, REQUIRED } from '#config';
import { QUEUE } from '#contracts';
import type { BreakerOptions } from './circuit-breaker.js';

/** The keys of every app that uses Redis. */
export class RedisConfig {
  @RedisUrl(
    'where Redis is: redis://, rediss://, unix://, redis+sentinel://host:port,…/master/db or redis+cluster://host:port,…',
    REQUIRED,
  )
  REDIS_URL!: string;

  @QueueName(
    'first part of every Redis key; in a cluster each queue adds its name, so that the nodes share the queues',
    '{millrace}',
  )
  REDIS_PREFIX!: string;

  @Choice('what to do with a Redis whose maxmemory-policy may evict jobs: refuse or warn', 'refuse', [
    'refuse',
    'warn',
  ])
  REDIS_EVICTION_POLICY!: 'refuse' | 'warn';

  @QueueName('queue that receives every job that failed for good', QUEUE.deadLetter)
  DLQ_NAME!: string;

  @Int('how often a job is tried before it is dead-lettered', 5, [1, 100])
  JOB_ATTEMPTS!: number;

  @Int('failures in a row that open the Redis circuit breaker', 5, [1, 1_000])
  BREAKER_FAILURE_THRESHOLD!: number;

  @Int('first cooldown of the open circuit breaker, in ms; doubles up to 10000', 1_000, [10, 10_000])
  BREAKER_COOLDOWN_MS!: number;

  @Int(
    'Tests only: how many times shorter the lock, stall check and presence of workers are.',
    OPTIONAL,
    [1, 10],
    { hidden: true },
  )
  MILLRACE_TEST_HASTE?: number;
}

/** The circuit breaker as configured, for every connection of the process. */
export function breakerOf(
  config: Pick<RedisConfig, 'BREAKER_FAILURE_THRESHOLD' | 'BREAKER_COOLDOWN_MS'>,
): Partial<BreakerOptions> {
  return { failureThreshold: config.BREAKER_FAILURE_THRESHOLD, cooldownMs: config.BREAKER_COOLDOWN_MS };
}
