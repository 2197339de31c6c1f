import {
  createRedisClient,
  parseRedisUrl,
  type BreakerOptions,
  type RedisClient,
  type TlsOptions,
} from '#redis';
import type { Clock, Logger } from '#service';
import type { Vote } from './quorum-tally.js';
import { driftMs } from './lease-time.js';
import { RELEASE, RENEW, type Script } from './lock-scripts.js';

export interface LockNodeOptions {
  url: string;
  tls?: TlsOptions;
  /** How long one command may take; small against a lease, so that a slow node costs little of it. */
  timeoutMs: number;
  /**
   * Delayed restart: a node grants nothing before it has been up for this long. Its restart may have lost grants, and
   * by then all of them have expired. 0 where there is no majority to protect.
   */
  restartDelayMs: number;
  breaker?: Partial<BreakerOptions>;
  clock: Clock;
  logger: Logger;
}

const RECONNECT = { baseMs: 50, maxMs: 2_000 };
const placed = (reply: unknown): Vote => (reply === 'OK' ? 'yes' : 'no');
const counted = (reply: unknown): Vote => (reply === 1 ? 'yes' : 'no');

/** One Redis that keeps leases. Every question is answered with a vote within the timeout; none throws. */
export class LockNode {
  private readonly client: RedisClient;
  /** Monotonic time at which the server began to run, at the latest; undefined while it is not known. */
  private bootedAt: number | undefined;
  private lastError: unknown;
  private readonly silence = (error: unknown): Vote => {
    this.lastError = error;
    return 'silent';
  };

  constructor(private readonly options: LockNodeOptions) {
    const client = createRedisClient(parseRedisUrl(options.url), {
      role: 'caller',
      name: 'millrace-locks',
      reconnect: RECONNECT,
      breaker: options.breaker,
      commandTimeoutMs: options.timeoutMs,
      lazyConnect: true,
      tls: options.tls,
    });
    client.on('error', this.silence);
    client.on('close', () => (this.bootedAt = undefined));
    client.on('ready', () => void this.learnAge());
    this.client = client;
  }

  /** The last thing that went wrong with this node, for the cause of an error. */
  get trouble(): unknown {
    return this.lastError;
  }

  /** Resolves when the first try to connect has ended, well or not; further tries go on by themselves. */
  async connect(): Promise<Vote> {
    try {
      await this.client.connect();
      await this.learnAge();
      return 'yes';
    } catch (error) {
      return this.silence(error);
    }
  }

  disconnect(): void {
    this.client.disconnect();
  }

  ping(): Promise<Vote> {
    return this.client.ping().then(() => 'yes' as const, this.silence);
  }

  /** Takes the lock if it is free and this node has been up for long enough to know. */
  lock(key: string, owner: string, leaseMs: number): Promise<Vote> {
    if (this.isTooYoung(leaseMs)) return Promise.resolve('silent');
    return this.place(key, owner, leaseMs);
  }

  /** Takes the lock if it is free. */
  place(key: string, owner: string, leaseMs: number): Promise<Vote> {
    return this.client.set(key, owner, 'PX', leaseMs, 'NX').then(placed, this.silence);
  }

  renew(key: string, owner: string, leaseMs: number): Promise<Vote> {
    return this.run(RENEW, key, owner, leaseMs);
  }

  release(key: string, owner: string): Promise<Vote> {
    return this.run(RELEASE, key, owner);
  }

  check(key: string, owner: string): Promise<Vote> {
    return this.client.get(key).then((found) => (found === owner ? 'yes' : 'no'), this.silence);
  }

  private run({ lua, sha }: Script, key: string, ...args: (string | number)[]): Promise<Vote> {
    return this.client.evalsha(sha, 1, key, ...args).then(counted, (error: unknown) =>
      // A server that restarted, or whose scripts were flushed, learns it by running it once.
      isUnknownScript(error)
        ? this.client.eval(lua, 1, key, ...args).then(counted, this.silence)
        : this.silence(error),
    );
  }

  private isTooYoung(leaseMs: number): boolean {
    const { restartDelayMs, clock } = this.options;
    if (restartDelayMs === 0) return false;
    if (this.bootedAt === undefined) {
      void this.learnAge();
      return true;
    }
    const delayMs = Math.max(restartDelayMs, leaseMs);
    return clock.monotonic() < this.bootedAt + delayMs + driftMs(delayMs);
  }

  private async learnAge(): Promise<void> {
    const { restartDelayMs, clock, logger } = this.options;
    if (restartDelayMs === 0) return;
    try {
      const uptimeS = Number(/uptime_in_seconds:(\d+)/.exec(await this.client.info('server'))?.[1] ?? 0);
      // The seconds are rounded down and the reply took its time: both make the server look younger than it is.
      this.bootedAt = clock.monotonic() - uptimeS * 1_000;
    } catch (error) {
      this.silence(error);
      logger.debug({ err: error }, 'a lock node did not tell its age; it grants nothing until it does');
    }
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
