import { mkdir } from 'node:fs/promises';
import type { Destination } from '#contracts';
import { claimOutput, joinPipeline, type Database, type OutputOwner, type PipelineRow } from '#database';
import { placesConfig, runConfig } from '../cli.config.js';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import type { DataDirectory } from '../fleet/data-directory.js';
import { PrivateRedis, requireRedisServer } from '../fleet/private-redis.js';
import { openDatabase } from '../settings.js';
import type { RunRequest } from './run-options.js';

/** How to close one of the things that a run holds open; called in reverse, whatever happens. */
export type Undo = () => Promise<void>;

export type ServicePlaces = Record<'redisUrl' | 'databaseUrl', string>;

interface ClaimedPlaces {
  places: ServicePlaces;
  /** False when the run before did not come to its end. */
  clean: boolean;
  /** That of this run alone, which begins empty. */
  ownRedis: PrivateRedis | undefined;
}

export interface Services extends ClaimedPlaces {
  database: Database;
  pipeline: PipelineRow;
}

/** Where database and Redis of a run are: those that are configured, or private ones in the data directory, which is taken. */
export async function claimPlaces(
  { fresh, dryRun }: RunRequest,
  data: DataDirectory,
  undo: Undo[],
): Promise<ClaimedPlaces> {
  const { REDIS_URL, DATABASE_URL } = await placesConfig();
  // Before anything is touched: --fresh would forget the data of a run that cannot begin.
  if (!REDIS_URL) requireRedisServer();
  if (fresh && DATABASE_URL && !dryRun)
    throw new CliError(
      '--fresh forgets a data folder, not a database that others may use; choose another ?schema= or database instead',
      CLI_EXIT.usage,
    );
  const { cleanStart: clean } = await data.claim();
  undo.push(() => data.release());
  if (fresh) await data.wipe();
  // A dry run batches to see what comes of it; that belongs into nobody's tables.
  const databaseUrl = (!dryRun && DATABASE_URL) || data.databaseUrl;
  if (REDIS_URL) return { places: { redisUrl: REDIS_URL, databaseUrl }, clean, ownRedis: undefined };
  const ownRedis = new PrivateRedis(data.logFile('redis'));
  undo.push(() => ownRedis.stop());
  return { places: { redisUrl: ownRedis.url, databaseUrl }, clean, ownRedis };
}

/** Opens what is there, for a destination unless it delivers nothing. A database or an output folder of another pipeline is refused before Redis is started. */
export async function openServices(
  destination: Destination | undefined,
  data: DataDirectory,
  claimed: ClaimedPlaces,
  undo: Undo[],
): Promise<Services> {
  const { places, ownRedis } = claimed;
  const database = await openDatabase(places.databaseUrl);
  undo.push(() => database.stop());
  const pipeline = await joinPipeline(database, destination);
  if (destination?.sink === 'write')
    await takeOutput(destination.address, { pipeline: pipeline.id, database: database.place });
  await ownRedis?.start();
  await data.tell({ pid: process.pid, ...places });
  return { ...claimed, database, pipeline };
}

/** One that cannot be made is told of by whoever writes there. */
async function takeOutput(folder: string, owner: OutputOwner): Promise<void> {
  const mode = (await runConfig()).OUTPUT_SHARED ? 0o755 : 0o700;
  await mkdir(folder, { recursive: true, mode }).catch(() => {});
  await claimOutput(folder, owner);
}
