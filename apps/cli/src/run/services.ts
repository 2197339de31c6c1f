import { mkdir } from 'node:fs/promises';
import { claimOutput, Database, joinPipeline, type OutputOwner, type PipelineRow } from '#database';
import { Metrics, silentLogger } from '#service';
import { outputConfig, placesConfig } from '../cli.config.js';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import type { DataDirectory } from '../fleet/data-directory.js';
import { PrivateRedis } from '../fleet/private-redis.js';
import type { RunRequest } from './run-options.js';

/** How to close one of the things that a run holds open; called in reverse, whatever happens. */
export type Undo = () => Promise<void>;

export interface ServicePlaces {
  redisUrl: string;
  databaseUrl: string;
}

export interface Services {
  places: ServicePlaces;
  database: Database;
  pipeline: PipelineRow;
  /** False when the run before did not come to its end. */
  clean: boolean;
  /** That of this run alone, which begins empty. */
  ownRedis: boolean;
}

interface ClaimedPlaces extends Pick<Services, 'places' | 'clean'> {
  redis: PrivateRedis | undefined;
}

/** Where database and Redis of a run are: those that are configured, or private ones in the data directory, which is taken. */
export async function claimPlaces(
  { options }: Pick<RunRequest, 'options'>,
  data: DataDirectory,
  undo: Undo[],
): Promise<ClaimedPlaces> {
  const { REDIS_URL, DATABASE_URL } = await placesConfig();
  if (options.fresh && DATABASE_URL && !options.dryRun)
    throw new CliError(
      '--fresh forgets a data folder, not a database that others may use; choose another ?schema= or database instead',
      CLI_EXIT.usage,
    );
  const { cleanStart: clean } = await data.claim();
  undo.push(() => data.release());
  if (options.fresh) await data.wipe();
  // A dry run batches to see what comes of it; that belongs into nobody's tables.
  const databaseUrl = (!options.dryRun && DATABASE_URL) || data.databaseUrl;
  if (REDIS_URL) return { places: { redisUrl: REDIS_URL, databaseUrl }, clean, redis: undefined };
  const redis = new PrivateRedis(data.logFile('redis'));
  undo.push(() => redis.stop());
  return { places: { redisUrl: redis.url, databaseUrl }, clean, redis };
}

/** Opens what is there. A database or an output folder of another pipeline is refused before Redis is started. */
export async function openServices(
  { options, destination }: Pick<RunRequest, 'options'> & Partial<Pick<RunRequest, 'destination'>>,
  data: DataDirectory,
  { places, clean, redis }: ClaimedPlaces,
  undo: Undo[],
): Promise<Services> {
  const database = await openDatabase(places.databaseUrl, undo);
  const pipeline = await joinPipeline(database, options.dryRun ? undefined : destination);
  if (!options.dryRun && destination?.sink === 'write')
    await takeOutput(destination.address, { pipeline: pipeline.id, database: database.place });
  await redis?.start();
  await data.tell({ pid: process.pid, ...places });
  return { places, database, pipeline, clean, ownRedis: redis !== undefined };
}

/** One that cannot be made is told of by whoever writes there. */
async function takeOutput(folder: string, owner: OutputOwner): Promise<void> {
  const mode = (await outputConfig()).OUTPUT_SHARED ? 0o755 : 0o700;
  await mkdir(folder, { recursive: true, mode }).catch(() => {});
  await claimOutput(folder, owner);
}

async function openDatabase(url: string, undo: Undo[]): Promise<Database> {
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics(), poolSize: 2 });
  await database.start();
  undo.push(() => database.stop());
  return database;
}
