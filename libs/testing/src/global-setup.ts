import { startPostgres } from './postgres-server.js';
import { startRedis } from './redis-server.js';
import { publishShared } from './shared-services.js';
import type { SharedServers } from './global-teardown.js';

/** One Redis and one PostgreSQL a run, on free ports in temporary folders. */
export default async function globalSetup(): Promise<void> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  publishShared(redis.url, postgres.url());
  (globalThis as SharedServers).millraceServers = [redis, postgres];
}
