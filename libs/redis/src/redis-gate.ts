import { sleep, within, down, UP, systemClock, type Clock, type Health, type Logger } from '#service';
import {
  afterFailure,
  afterSuccess,
  CLOSED,
  retryAfterMs,
  takeProbe,
  type BreakerOptions,
  type BreakerState,
} from './circuit-breaker.js';
import { CircuitOpenError, isRedisUnavailable, redisClosed, RedisUnavailableError } from './redis.errors.js';
import type { RedisClient } from './redis-client.js';

interface GateOptions {
  breaker: BreakerOptions;
  logger: Logger;
  /** A key that the probe may write. */
  probeKey: string;
  random?: () => number;
  clock?: Clock;
}

const PROBE_TIMEOUT_MS = 3_000;
const PING_TIMEOUT_MS = 2_000;

/**
 * The shared connection behind a circuit breaker. Calls and connection attempts that fail open it; while it is open,
 * calls fail at once and connection attempts wait for the cooldown; then one probe, a write, decides.
 * Guarantee: each state change is one log line and one call of every listener.
 */
export class RedisGate {
  private breaker: BreakerState = CLOSED;
  private probeTimer: NodeJS.Timeout | undefined;
  private lastFailure: unknown;
  private closed = false;
  private readonly listeners = new Set<(state: BreakerState['state']) => void>();
  readonly client: RedisClient;
  private readonly clock: Clock;

  constructor(
    connect: (holdOffMs: () => number) => RedisClient,
    private readonly options: GateOptions,
  ) {
    this.clock = options.clock ?? systemClock;
    this.client = connect(() => this.holdOffMs());
    this.client.on('error', (error: unknown) => (this.lastFailure = error));
    this.client.on('close', () => {
      if (!this.closed) this.failed(this.lastFailure);
    });
  }

  get state(): BreakerState['state'] {
    return this.breaker.state;
  }

  get ready(): boolean {
    return this.client.status === 'ready';
  }

  onTransition(listener: (state: BreakerState['state']) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Runs `call` unless the circuit is open. What says that Redis is away becomes RedisUnavailableError. */
  async run<T>(what: string, call: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.closed) throw redisClosed();
    const wait = this.holdOffMs();
    if (wait > 0) throw new CircuitOpenError(wait, this.lastFailure);
    try {
      const value = await call(this.client);
      this.move(afterSuccess(this.breaker));
      return value;
    } catch (error) {
      if (!isRedisUnavailable(error)) throw error;
      this.failed(error);
      throw new RedisUnavailableError(what, error);
    }
  }

  /** Resolves when connected; rejects when that takes longer than `ms`. */
  async connected(ms: number, signal?: AbortSignal): Promise<void> {
    const deadline = this.clock.monotonic() + ms;
    while (!this.ready) {
      if (this.closed) throw redisClosed();
      if (this.clock.monotonic() > deadline || signal?.aborted)
        throw new RedisUnavailableError(`no connection within ${ms} ms`, this.lastFailure);
      await sleep(20, signal);
    }
  }

  async health(): Promise<Health> {
    if (this.closed) return down('closed');
    if (this.breaker.state !== 'closed') return down(`Redis circuit is ${this.breaker.state}`);
    if (!this.ready) return down(`Redis connection is ${this.client.status}`);
    const silent = (): Health => down('Redis does not answer');
    const ping = this.client.ping().then(() => UP, silent);
    return within(PING_TIMEOUT_MS, ping, silent);
  }

  /** Ends the connection; idempotent. Waits for pending replies no longer than `ms`. */
  async close(ms: number): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.probeTimer);
    const quit = this.ready ? this.client.quit().catch(() => {}) : Promise.resolve();
    await within<unknown>(ms, quit, () => {});
    this.client.disconnect();
  }

  private failed(error: unknown): void {
    // Our own "unavailable" says less than what it was caused by.
    const source = error instanceof RedisUnavailableError ? error.cause : error;
    this.lastFailure = source ?? this.lastFailure;
    const { breaker, random = Math.random } = this.options;
    this.move(afterFailure(this.breaker, this.clock.monotonic(), breaker, random));
  }

  private move(next: BreakerState): void {
    const previous = this.breaker;
    this.breaker = next;
    if (next.state === 'open' && next !== previous) this.scheduleProbe(next.until);
    if (next.state !== previous.state) this.announce(previous.state, next);
  }

  private announce(from: BreakerState['state'], next: BreakerState): void {
    const log = next.state === 'open' ? 'warn' : 'info';
    this.options.logger[log](
      {
        breaker: next.state,
        from,
        ...(next.state === 'open' && {
          retry_after_ms: this.holdOffMs(),
          trips: next.trips,
          err: this.lastFailure,
        }),
      },
      `Redis circuit is ${next.state}`,
    );
    for (const listener of this.listeners) listener(next.state);
  }

  private scheduleProbe(until: number): void {
    clearTimeout(this.probeTimer);
    // A probe that was under way when the gate closed fails, and must not be the first of many.
    if (this.closed) return;
    this.probeTimer = setTimeout(
      () => void this.probe(),
      Math.max(0, Math.ceil(until - this.clock.monotonic())),
    );
  }

  private async probe(): Promise<void> {
    const half = takeProbe(this.breaker, this.clock.monotonic());
    if (this.closed) return;
    if (!half) return this.breaker.state === 'open' ? this.scheduleProbe(this.breaker.until) : undefined;
    this.move(half);
    try {
      await within(PROBE_TIMEOUT_MS, this.tryWrite(), () => {
        throw new RedisUnavailableError('the probe was not answered');
      });
      this.move(afterSuccess(this.breaker));
    } catch (error) {
      this.failed(error);
    }
  }

  // A write, because a Redis that is full or read-only answers PING.
  private async tryWrite(): Promise<void> {
    if (this.client.status === 'reconnecting' || this.client.status === 'end')
      this.client.connect().catch(() => {});
    await this.connected(PROBE_TIMEOUT_MS);
    await this.client.set(this.options.probeKey, '1', 'PX', 1_000);
  }

  /** How long nobody may connect: neither the callers' connection nor a worker's. */
  holdOffMs(): number {
    return retryAfterMs(this.breaker, this.clock.monotonic(), this.options.breaker);
  }
}
