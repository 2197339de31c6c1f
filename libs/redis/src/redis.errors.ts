import { CodedError, errorCode } from '#service';

/** Redis is known to be away: the call was not tried. Come back after `retryAfterMs`. */
export class CircuitOpenError extends CodedError {
  constructor(retryAfterMs: number, cause?: unknown) {
    const message = `Redis is unavailable and the circuit is open; try again in ${retryAfterMs} ms`;
    super('CIRCUIT_OPEN', message, { retryAfterMs, cause });
  }
}

/** Redis did not do what was asked; whether it happened is unknown. Repeat with the same ids. */
export class RedisUnavailableError extends CodedError {
  constructor(what: string, cause?: unknown) {
    const cure = 'check REDIS_URL and the server, then repeat with the same ids';
    super('REDIS_UNAVAILABLE', `Redis is unavailable (${what}); ${cure}`, { cause });
  }
}

class RedisError extends CodedError {}

/** This Redis may drop keys under memory pressure: jobs would vanish in silence. */
export const evictingRedis = (policy: string): CodedError =>
  new RedisError(
    'REDIS_EVICTS',
    `Redis has maxmemory-policy ${policy} and would evict jobs; set it to noeviction (CONFIG SET maxmemory-policy noeviction)`,
    { policy, fatal: true },
  );

export const oldRedis = (version: string, minimum: string): CodedError =>
  new RedisError(
    'REDIS_TOO_OLD',
    `Redis is version ${version}; at least ${minimum} is needed, so upgrade the server`,
    { version, minimum, fatal: true },
  );

export const invalidRedisUrl = (fault: string): CodedError =>
  new RedisError(
    'INVALID_REDIS_URL',
    `REDIS_URL ${fault}; write redis://host:port/db, rediss://…, unix:///path, redis+sentinel://host:port,host:port/master/db or redis+cluster://host:port,host:port`,
    { fatal: true },
  );

/** The connection was ended by its owner. */
export const redisClosed = (): CodedError =>
  new RedisError(
    'REDIS_CLOSED',
    'the connection to Redis is closed because the process stops; call before that',
  );

const SOCKET_CODE =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN|ENOENT)$/;
// What ioredis says of its connection, and the replies of a Redis that cannot take writes now.
const UNAVAILABLE =
  /^(OOM|MISCONF|LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|BUSY) |Connection is closed|isn't writeable|Command timed out|Command aborted due to connection close|max retries per request|Socket timeout|Failed to refresh slots cache|All sentinels are unreachable|ClusterAllFailedError/;

/** Whether the error says that Redis is away or cannot write, so that waiting is the cure. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return SOCKET_CODE.test(errorCode(error) ?? '') || UNAVAILABLE.test(error.message);
}
