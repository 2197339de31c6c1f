import { createRedisClient, parseRedisUrl, type BreakerOptions, type RedisClient } from '#redis';
import type { Clock, Logger } from '#service';
import type { Vote } from './lock-nodes.js';
import { driftMs } from './lease-time.js';

interface LockNodeOptions {
  url: string;
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

/** Our scripts, as the client knows them. */
interface LockCommands {
  releaseLock(key: string, owner: string): Promise<unknown>;
  renewLock(key: string, owner: string, leaseMs: number): Promise<unknown>;
}

/*
 * KEYS[1] lock, ARGV[1] owner. Deletes the lock if that owner has it. 1 deleted, 0 not its own (or gone).
 * Nobody can release a lock that another has taken over in the meantime.
 */
const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`;

/*
 * KEYS[1] lock, ARGV[1] owner, ARGV[2] lease in ms. Starts the lease anew if that owner has it. 1 renewed, 0 not its own.
 * Never creates the key: a lock that was lost in between stays lost.
 */
const RENEW = `
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`;

const RECONNECT = { baseMs: 50, maxMs: 2_000 };
const placed = (reply: unknown): Vote => (reply === 'OK' ? 'yes' : 'no');
const counted = (reply: unknown): Vote => (reply === 1 ? 'yes' : 'no');

/** One Redis that keeps leases. Every question is answered with a vote within the timeout; none throws. */
export class LockNode {
  private readonly client: RedisClient & LockCommands;
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
    });
    client.defineCommand('releaseLock', { numberOfKeys: 1, lua: RELEASE });
    client.defineCommand('renewLock', { numberOfKeys: 1, lua: RENEW });
    client.on('error', this.silence);
    client.on('close', () => (this.bootedAt = undefined));
    client.on('ready', () => void this.learnAge());
    this.client = client as RedisClient & LockCommands;
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
    return this.client.renewLock(key, owner, leaseMs).then(counted, this.silence);
  }

  release(key: string, owner: string): Promise<Vote> {
    return this.client.releaseLock(key, owner).then(counted, this.silence);
  }

  check(key: string, owner: string): Promise<Vote> {
    return this.client.get(key).then((found) => (found === owner ? 'yes' : 'no'), this.silence);
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
