import { IsIn, IsInt, Matches, Max, Min } from 'class-validator';
import { IsRedisUrl, Key } from '#config';
import { QUEUE } from '#contracts';

/** BullMQ builds keys with colons, so a queue name or prefix may not hold one. */
function IsQueueName(): PropertyDecorator {
  return Matches(/^[\w{}.-]{1,100}$/, {
    message: '$property must be 1 to 100 letters, digits or any of _ - . { }',
  });
}

/** The keys of every app that uses Redis. */
export class RedisConfig {
  @Key({
    meaning:
      'where Redis is: redis://, rediss://, unix://, redis+sentinel://host:port,…/master/db or redis+cluster://host:port,…',
    default: 'redis://127.0.0.1:6379',
    secret: 'url',
  })
  @IsRedisUrl()
  REDIS_URL!: string;

  @Key({ meaning: 'first part of every Redis key; keep the braces for a cluster', default: '{millrace}' })
  @IsQueueName()
  REDIS_PREFIX!: string;

  @Key({
    meaning: 'what to do with a Redis whose maxmemory-policy may evict jobs: refuse or warn',
    default: 'refuse',
  })
  @IsIn(['refuse', 'warn'])
  REDIS_EVICTION_POLICY!: 'refuse' | 'warn';

  @Key({ meaning: 'queue that receives every job that failed for good', default: QUEUE.deadLetter })
  @IsQueueName()
  DLQ_NAME!: string;

  @Key({ meaning: 'how often a job is tried before it is dead-lettered', default: 5 })
  @IsInt()
  @Min(1)
  @Max(100)
  JOB_ATTEMPTS!: number;

  @Key({ meaning: 'failures in a row that open the Redis circuit breaker', default: 5 })
  @IsInt()
  @Min(1)
  @Max(1_000)
  BREAKER_FAILURE_THRESHOLD!: number;

  @Key({ meaning: 'first cooldown of the open circuit breaker, in ms; doubles up to 10000', default: 1_000 })
  @IsInt()
  @Min(10)
  @Max(10_000)
  BREAKER_COOLDOWN_MS!: number;

  @Key({
    meaning: 'Tests only: how many times shorter the lock, stall check and presence of workers are.',
    optional: true,
    kind: 'integer',
    hidden: true,
  })
  @IsInt()
  @Min(1)
  @Max(10)
  MILLRACE_TEST_HASTE?: number;
}
