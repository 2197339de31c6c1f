// One Redis and one PostgreSQL a run, on free ports in temporary folders; and of each kind a database that is migrated once,
// for every test to get a copy of.
import { Database } from '#database';
import { Metrics, silentLogger } from '#service';
// Not by its index: one file alone runs in this process, and what asks for Jest must not be loaded before that is there.
import { createDatabase, startPostgres } from '../../libs/testing/src/postgres-server.ts';
import { startRedis } from '../../libs/testing/src/redis-server.ts';
import { publishShared } from '../../libs/testing/src/shared-services.ts';
import { tempFolder } from '../../libs/testing/src/temp-folder.ts';

export const started = [];

export default async function startServices() {
  const [redis, postgres, folder] = await Promise.all([
    startRedis(),
    startPostgres(),
    tempFolder('template'),
  ]);
  started.push(
    () => redis.stop(),
    () => postgres.stop(),
    folder.remove,
  );
  const file = `${folder.path}/millrace.db`;
  const { url } = await createDatabase(postgres.url());
  await Promise.all([`sqlite:${file}`, url].map(migrate));
  publishShared(redis.url, postgres.url(), { sqlite: file, postgres: new URL(url).pathname.slice(1) });
}

async function migrate(url) {
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  await database.stop();
}
