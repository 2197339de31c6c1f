import { Database } from '#database';
import { Metrics } from '#service';
import { placesConfig } from '../cli.config.js';
import type { DataDirectory } from '../fleet/data-directory.js';
import { PrivateRedis } from '../fleet/private-redis.js';
import { cliLogger } from '../settings.js';

/** How to close one of the things that a run holds open; called in reverse, whatever happens. */
export type Undo = () => Promise<void>;

export interface ServicePlaces {
  redisUrl: string;
  databaseUrl: string;
}

/**
 * Redis and database of a run: those that are configured, or private ones in the data directory. `clean` is false when the
 * run before did not come to its end.
 */
export async function openServices(
  data: DataDirectory,
  undo: Undo[],
): Promise<{ places: ServicePlaces; clean: boolean }> {
  const { REDIS_URL, DATABASE_URL } = await placesConfig();
  const databaseUrl = DATABASE_URL || data.databaseUrl;
  const { cleanStart } = await data.claim({ pid: process.pid, redisUrl: REDIS_URL ?? '', databaseUrl });
  undo.push(() => data.release());
  if (REDIS_URL) return { places: { redisUrl: REDIS_URL, databaseUrl }, clean: cleanStart };
  const redis = await PrivateRedis.start(data.redisFolder, data.logFile('redis'));
  undo.push(() => redis.stop());
  // Leases and half-done jobs of a run that was killed would only be waited for: the database knows what is to do.
  if (!cleanStart) await redis.flush();
  await data.claim({ pid: process.pid, redisUrl: redis.url, databaseUrl });
  return { places: { redisUrl: redis.url, databaseUrl }, clean: cleanStart };
}

export async function openDatabase(url: string, undo: Undo[]): Promise<Database> {
  const database = new Database({ url, logger: cliLogger(), metrics: new Metrics(), poolSize: 2 });
  await database.start();
  undo.push(() => database.stop());
  return database;
}
