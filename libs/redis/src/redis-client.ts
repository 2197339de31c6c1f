import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { backoffMs, type BackoffOptions } from '#service';
import { BREAKER, holdOffMs, type BreakerOptions } from './circuit-breaker.js';
import type { RedisTarget } from './redis-target.js';

export type RedisClient = Redis | Cluster;

interface RedisClientOptions {
  /**
   * `caller`: a command fails fast while Redis is away. `worker`: a command waits for Redis, as BullMQ's workers need.
   */
  role: 'caller' | 'worker';
  name: string;
  tls?: ConnectionOptions;
  reconnect?: BackoffOptions;
  commandTimeoutMs?: number;
  /** The shortest wait before the next connection attempt: the rest of a gate's cooldown. Without it, a cooldown of its own. */
  holdOffMs?: (attempt: number) => number;
  /** What that cooldown is like; of a connection without a gate. */
  breaker?: Partial<BreakerOptions>;
  random?: () => number;
  lazyConnect?: boolean;
}

export const RECONNECT: BackoffOptions = { baseMs: 100, maxMs: 5_000 };

// A black hole sends no reset: without this a worker never notices. Longer than the longest blocking read (10 s).
export const SOCKET_TIMEOUT_MS = 15_000;
export const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;

/** An ioredis connection whose socket timeout ends with its socket; its copies, such as BullMQ's blocking one, too. */
class GuardedRedis extends Redis {
  constructor(options: RedisOptions) {
    super(options);
    endTimeoutWithSocket(this);
  }

  // ioredis forgets the timer of a reconnect that is due when it is told to connect before: that would outlive a disconnect
  // and connect again for ever.
  override connect(callback?: (error?: Error | null) => void): Promise<void> {
    const timed = this as unknown as { reconnectTimeout?: NodeJS.Timeout | null };
    if (timed.reconnectTimeout) clearTimeout(timed.reconnectTimeout);
    timed.reconnectTimeout = null;
    return super.connect(callback);
  }

  override duplicate(override?: Partial<RedisOptions>): GuardedRedis {
    return new GuardedRedis({ ...this.options, ...override });
  }
}

// ioredis 5 leaves the timer of a closed socket running: it would destroy the socket that came after it, and hold the
// process open for the rest of its 15 s.
function endTimeoutWithSocket(client: Redis): void {
  const timed = client as unknown as { socketTimeoutTimer?: NodeJS.Timeout };
  client.on('close', () => {
    clearTimeout(timed.socketTimeoutTimer);
    timed.socketTimeoutTimer = undefined;
  });
}

/** The one place where a connection to Redis is made, so that each has the same timeouts and a jittered reconnect. */
export function createRedisClient(target: RedisTarget, options: RedisClientOptions): RedisClient {
  const client = target.kind === 'cluster' ? createCluster(target, options) : createSingle(target, options);
  // Without a listener ioredis prints each error; owners listen for what they need.
  client.on('error', () => {});
  return client;
}

/** The answers to commands that are sent together; throws what one of them was refused with. */
export async function answersTo(commands: ReturnType<RedisClient['pipeline']>): Promise<unknown[]> {
  const answers = await commands.exec();
  if (!answers) throw new Error('Connection is closed.');
  return answers.map(([error, answer]) => {
    if (error) throw error;
    return answer;
  });
}

function createSingle(target: Exclude<RedisTarget, { kind: 'cluster' }>, options: RedisClientOptions): Redis {
  const retryStrategy = reconnectDelay(options);
  const common: RedisOptions = {
    ...nodeOptions(target, options),
    db: target.db,
    retryStrategy,
    lazyConnect: options.lazyConnect ?? false,
  };
  if (target.kind === 'socket') return new GuardedRedis({ ...common, path: target.path });
  if (target.kind === 'standalone')
    return new GuardedRedis({ ...common, host: target.host, port: target.port });
  return new GuardedRedis({
    ...common,
    sentinels: target.sentinels,
    name: target.master,
    sentinelRetryStrategy: retryStrategy,
    ...(target.sentinelPassword && { sentinelPassword: target.sentinelPassword }),
    enableTLSForSentinelMode: target.tls,
    failoverDetector: true,
  });
}

function createCluster(target: RedisTarget & { kind: 'cluster' }, options: RedisClientOptions): Cluster {
  const cluster = new Cluster(target.nodes, {
    redisOptions: nodeOptions(target, options),
    enableOfflineQueue: options.role === 'worker',
    clusterRetryStrategy: reconnectDelay(options),
    lazyConnect: options.lazyConnect ?? false,
  });
  cluster.on('+node', endTimeoutWithSocket);
  return cluster;
}

function nodeOptions(target: RedisTarget, options: RedisClientOptions): RedisOptions {
  const patient = options.role === 'worker';
  return {
    connectionName: options.name,
    enableOfflineQueue: patient,
    maxRetriesPerRequest: patient ? null : 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    disableClientInfo: true,
    // A primary that became a replica answers READONLY: connect again, to the new one.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? (patient ? 2 : 1) : false),
    ...(!patient && { commandTimeout: options.commandTimeoutMs ?? 5_000 }),
    ...(target.username && { username: target.username }),
    ...(target.password && { password: target.password }),
    ...(target.tls && { tls: { ...options.tls } }),
  };
}

function reconnectDelay(options: RedisClientOptions): (attempt: number) => number {
  const { reconnect = RECONNECT, random = Math.random } = options;
  const breaker = { ...BREAKER, ...options.breaker };
  const shortest = options.holdOffMs ?? ((attempt: number) => holdOffMs(attempt, breaker, random));
  return (attempt) => Math.max(backoffMs(attempt - 1, reconnect, random), shortest(attempt));
}
