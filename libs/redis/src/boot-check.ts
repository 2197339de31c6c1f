import { Cluster } from 'ioredis';
import type { Logger } from '#service';
import { evictingRedis, oldRedis } from './redis.errors.js';
import type { RedisClient } from './redis-client.js';

const MINIMUM_REDIS = '6.2.0';

type ServerFacts = ReturnType<typeof parseInfo>;

/** Reads the facts that matter from the text of INFO. */
export function parseInfo(info: string) {
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  return {
    version: field('valkey_version') || field('redis_version'),
    evictionPolicy: field('maxmemory_policy'),
    runId: field('run_id'),
  };
}

export function isOlder(version: string, minimum: string): boolean {
  // One of fewer parts is that with zeros.
  return `${version}.0.0`.localeCompare(minimum, 'en', { numeric: true }) < 0;
}

/** The facts of each server behind the client: one, or every primary of a cluster. */
export async function serverFacts(client: RedisClient): Promise<ServerFacts[]> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  return Promise.all(nodes.map(async (node) => parseInfo(await node.info())));
}

/** Refuses a Redis that is too old, or that may evict jobs (or only warns of that, if told). */
export function checkServers(
  servers: readonly ServerFacts[],
  evictionPolicy: 'refuse' | 'warn',
  logger: Logger,
): void {
  for (const { version, evictionPolicy: policy } of servers) {
    if (version && isOlder(version, MINIMUM_REDIS)) throw oldRedis(version, MINIMUM_REDIS);
    if (!policy || policy === 'noeviction') continue;
    const error = evictingRedis(policy);
    if (evictionPolicy === 'refuse') throw error;
    logger.warn({ code: error.code, policy }, error.message);
  }
}
