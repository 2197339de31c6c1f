import { errorCode } from '#service';

const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);

// What ioredis says of its connection, and the replies of a Redis that cannot take writes now.
const UNAVAILABLE =
  /^(OOM|MISCONF|LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|BUSY) |Connection is closed|isn't writeable|Command timed out|Command aborted due to connection close|max retries per request|Socket timeout|Failed to refresh slots cache|All sentinels are unreachable|ClusterAllFailedError/;

/** Whether the error says that Redis is away or cannot write, so that waiting is the cure. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return SOCKET_CODES.has(errorCode(error) ?? '') || UNAVAILABLE.test(error.message);
}
