import type { ConnectionOptions } from 'node:tls';
import { QUEUE } from '#contracts';
import { BREAKER, type BreakerOptions, RECONNECT, type RedisTarget } from '#redis';
import type { BackoffOptions, Logger, Metrics } from '#service';
import { workerTimes, type WorkerTimes } from './worker-settings.js';

export interface QueueManagerOptions {
  /** See `parseRedisUrl` for the forms. */
  url: string;
  /** The stable id of this process in logs, jobs and dead letters. */
  workerId: string;
  logger: Logger;
  metrics: Metrics;
  /** The app as which this process shows itself to the others; empty: it does not. */
  app?: string;
  tls?: ConnectionOptions;
  /** First part of every key, asked for when a queue is first used. In a cluster the keys of each queue get a hash tag of their own. */
  prefix?: string | (() => string);
  deadLetterQueue?: string;
  /** What to do with a Redis that may evict keys. */
  evictionPolicy?: 'refuse' | 'warn';
  breaker?: Partial<BreakerOptions>;
  reconnect?: BackoffOptions;
  /** How often a job is tried, and the wait in between. */
  attempts?: number;
  retry?: BackoffOptions;
  /** How long, and how many, completed jobs are kept so that a second publication of their id is ignored. */
  keepCompleted?: { ageMs: number; count: number };
  /** How often the failed sets are searched for what the `failed` event did not tell. */
  sweepIntervalMs?: number;
  /** A worker that fetches nothing for so long while jobs wait is recreated. */
  recreateAfterMs?: number;
  commandTimeoutMs?: number;
  /** Tests only: lock, stall check, presence and trials are so many times shorter. */
  haste?: number;
  random?: () => number;
}

export type Settings = Required<Omit<QueueManagerOptions, 'tls' | 'url' | 'prefix'>> & {
  readonly prefix: string;
  /** What the keys of one queue begin with. */
  prefixOf(queue: string): string;
  breaker: BreakerOptions;
  times: WorkerTimes;
  tls?: ConnectionOptions;
};

export function withDefaults(options: QueueManagerOptions, target: RedisTarget): Settings {
  const given = Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => value !== undefined && name !== 'url' && name !== 'prefix',
    ),
  ) as Omit<QueueManagerOptions, 'url' | 'prefix'>;
  return {
    deadLetterQueue: QUEUE.deadLetter,
    evictionPolicy: 'refuse',
    reconnect: RECONNECT,
    attempts: 5,
    retry: { baseMs: 1_000, maxMs: 60_000 },
    keepCompleted: { ageMs: 3_600_000, count: 20_000 },
    sweepIntervalMs: 5_000,
    recreateAfterMs: 20_000,
    commandTimeoutMs: 5_000,
    haste: 1,
    app: '',
    random: Math.random,
    ...given,
    get prefix() {
      const { prefix = '{millrace}' } = options;
      return typeof prefix === 'string' ? prefix : prefix();
    },
    prefixOf(queue) {
      return target.kind === 'cluster' ? taggedPrefix(this.prefix, queue) : this.prefix;
    },
    times: workerTimes(options.haste ?? 1),
    breaker: { ...BREAKER, ...options.breaker },
  };
}

/**
 * In a cluster all keys of a queue must be on one node, which a hash tag makes sure of; a tag a queue, and not one for all, lets
 * the nodes share the queues. Nothing needs the keys of two queues in one command: a dead letter is copied, then removed.
 */
function taggedPrefix(prefix: string, queue: string): string {
  return `{${prefix.replaceAll(/[{}]/g, '')}:${queue}}`;
}
