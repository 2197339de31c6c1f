import { Inject, Injectable } from '@nestjs/common';
import { Pipeline } from '#database';
import { breakerOf, createRedisClient, parseRedisUrl, RedisConfig, type RedisClient } from '#redis';
import { CLOCK, within, type Clock, type Service } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { tooManyRequests } from '../http/problems.js';

const WINDOW_MS = 60_000;
const ANSWER_MS = 250;
const MAX_LOCAL = 20_000;

type LimitKind = 'address' | 'key' | 'login' | 'bulk';

/*
 * Counts a request in its window. KEYS[1] counter; ARGV[1] life of the window in ms. Returns the count with this one.
 */
const COUNT = `
  local count = redis.call('INCR', KEYS[1])
  if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
  return count
`;

/**
 * Limits requests a minute, for all replicas together: the counts are in Redis. While Redis is away each replica counts
 * by itself, so the limit is looser but never gone.
 */
@Injectable()
export class RateLimits implements Service {
  readonly name = 'rate limits';
  private client: RedisClient | undefined;
  private local = { window: 0, counts: new Map<string, number>() };

  constructor(
    private readonly redis: RedisConfig,
    private readonly config: DlqAdminConfig,
    private readonly pipeline: Pipeline,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async start(): Promise<void> {
    this.client ??= createRedisClient(parseRedisUrl(this.redis.REDIS_URL), {
      role: 'caller',
      name: 'millrace-limits',
      breaker: breakerOf(this.redis),
    });
  }

  async stop(): Promise<void> {
    this.client?.disconnect();
    this.client = undefined;
  }

  /** Counts one request; throws when the limit is passed. */
  async take(kind: LimitKind, who: string): Promise<void> {
    const now = this.clock.now();
    const window = Math.floor(now / WINDOW_MS);
    const key = `dlq-admin:limit:${kind}:${window}:${who}`;
    const count = (await this.shared(key)) ?? this.own(key, window);
    if (count > this.limit(kind)) throw tooManyRequests((window + 1) * WINDOW_MS - now);
  }

  private limit(kind: LimitKind): number {
    const { RATE_LIMIT_PER_MINUTE: all } = this.config;
    if (kind === 'login') return Math.max(5, Math.ceil(all / 60));
    return kind === 'bulk' ? Math.max(10, Math.ceil(all / 20)) : all;
  }

  private async shared(key: string): Promise<number | null> {
    if (this.client?.status !== 'ready') return null;
    const full = `${this.pipeline.prefixed(this.redis.REDIS_PREFIX)}:${key}`;
    const counted = this.client.eval(COUNT, 1, full, 2 * WINDOW_MS) as Promise<number>;
    return within<number | null>(ANSWER_MS, counted, () => null).catch(() => null);
  }

  private own(key: string, window: number): number {
    if (this.local.window !== window || this.local.counts.size > MAX_LOCAL)
      this.local = { window, counts: new Map() };
    const count = (this.local.counts.get(key) ?? 0) + 1;
    this.local.counts.set(key, count);
    return count;
  }
}
