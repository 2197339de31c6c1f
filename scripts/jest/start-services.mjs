// One Redis and one PostgreSQL a run, on free ports in temporary folders.
import { startPostgres } from '../../libs/testing/src/postgres-server.ts';
import { startRedis } from '../../libs/testing/src/redis-server.ts';
import { publishShared } from '../../libs/testing/src/shared-services.ts';

export const servers = [];

export default async function startServices() {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  publishShared(redis.url, postgres.url());
  servers.push(redis, postgres);
}
