import type { ConnectionOptions } from 'node:tls';
import { QUEUE } from '#contracts';
import { BREAKER, type BreakerOptions, parseRedisUrl, RECONNECT, type RedisTarget } from '#redis';
import type { BackoffOptions, Logger, Metrics } from '#service';
import { workerTimes, type WorkerTimes } from './worker-settings.js';

type Needed = Pick<Settings, 'url' | 'workerId' | 'logger' | 'metrics'>;
type Derived = Pick<Settings, 'target' | 'prefix' | 'prefixOf' | 'probeKey' | 'breaker' | 'times'>;

/** What a process may say of its settings, and what it must. */
export type QueueManagerOptions = Needed &
  Partial<Omit<Settings, keyof (Needed & Derived)>> & {
    /** First part of every key, asked for when a queue is first used. In a cluster the keys of each queue get a hash tag of their own. */
    prefix?: string | (() => string);
    breaker?: Partial<BreakerOptions>;
  };

/** How a process works with its queues: as it was told, and otherwise as in production. */
export class Settings {
  /** See `parseRedisUrl` for the forms. */
  readonly url!: string;
  readonly target: RedisTarget;
  /** The stable id of this process in logs, jobs and dead letters. */
  readonly workerId!: string;
  readonly logger!: Logger;
  readonly metrics!: Metrics;
  /** The app as which this process shows itself to the others; empty: it does not. */
  readonly app: string = '';
  readonly tls?: ConnectionOptions;
  readonly deadLetterQueue: string = QUEUE.deadLetter;
  /** What to do with a Redis that may evict keys. */
  readonly evictionPolicy: 'refuse' | 'warn' = 'refuse';
  readonly breaker: BreakerOptions;
  readonly reconnect: BackoffOptions = RECONNECT;
  /** How often a job is tried, and the wait in between. */
  readonly attempts: number = 5;
  readonly retry: BackoffOptions = { baseMs: 1_000, maxMs: 60_000 };
  /** How long, and how many, completed jobs are kept so that a second publication of their id is ignored. */
  readonly keepCompleted = { ageMs: 3_600_000, count: 20_000 };
  /** How often the failed sets are searched for what the `failed` event did not tell. */
  readonly sweepIntervalMs: number = 5_000;
  /** A worker that fetches nothing for so long while jobs wait is recreated. */
  readonly recreateAfterMs: number = 20_000;
  readonly commandTimeoutMs: number = 5_000;
  /** Tests only: lock, stall check, presence and trials are so many times shorter. */
  readonly haste: number = 1;
  readonly times: WorkerTimes;
  readonly random = Math.random;
  private readonly askPrefix: () => string;

  constructor({ prefix = '{millrace}', breaker, ...given }: QueueManagerOptions) {
    const known = Object.entries(given).filter(([, value]) => value !== undefined);
    Object.assign(this, Object.fromEntries(known));
    this.target = parseRedisUrl(this.url);
    this.askPrefix = typeof prefix === 'string' ? () => prefix : prefix;
    this.breaker = { ...BREAKER, ...breaker };
    this.times = workerTimes(this.haste);
  }

  get prefix(): string {
    return this.askPrefix();
  }

  /** That of the circuit breaker's probe. */
  get probeKey(): string {
    return `${this.prefix}:probe`;
  }

  /**
   * What the keys of one queue begin with. In a cluster all of them must be on one node, which a hash tag makes sure of; a tag a
   * queue, and not one for all, lets the nodes share the queues. Nothing needs the keys of two queues in one command: a dead
   * letter is copied, then removed.
   */
  prefixOf(queue: string): string {
    const { prefix } = this;
    return this.target.kind === 'cluster' ? `{${prefix.replaceAll(/[{}]/g, '')}:${queue}}` : prefix;
  }
}
