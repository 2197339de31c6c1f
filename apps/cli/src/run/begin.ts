import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Destination } from '#contracts';
import { claimOutput, joinPipeline, type OutputOwner } from '#database';
import { readCounts, type FleetCounts } from '#proof';
import { placesConfig, runConfig } from '../cli.config.js';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { DataDirectory, dataOf } from '../fleet/data-directory.js';
import { Fleet } from '../fleet/fleet.js';
import { PrivateRedis, requireRedisServer } from '../fleet/private-redis.js';
import { Screen } from '../output/screen.js';
import { openDatabase, tellPipeline } from '../settings.js';
import { deliveredSoFar, retryUntold } from './outcome.repository.js';
import { changedBudget, fleetPlan } from './plan.js';
import { isInside, type RunRequest } from './run-options.js';

/** How to close one of the things that a run holds open; called in reverse, whatever happens. */
export type Undo = () => Promise<void>;

export type ServicePlaces = Record<'redisUrl' | 'databaseUrl', string>;
type ClaimedPlaces = Awaited<ReturnType<typeof claimPlaces>>;
type Services = Awaited<ReturnType<typeof openServices>>;

/** A run whose services are there. */
export type Running = Awaited<ReturnType<typeof begin>>;

/** Takes the data folder, starts the worker, and opens what the run works with. Nothing is scanned yet. */
export async function begin(request: RunRequest, stop: AbortSignal, undo: Undo[]) {
  const screen = new Screen(process.stderr);
  const data = await openData(request, undo);
  const claimed = await claimPlaces(request, data, undo);
  const adminKey = randomBytes(32).toString('base64url');
  const fleet = new Fleet(await fleetPlan(request, data, claimed.places, adminKey));
  undo.push(() => fleet.stop());
  // It loads meanwhile, and touches nothing before it is asked to scan.
  fleet.start('worker');
  const destination = request.dryRun ? undefined : request.destination;
  const services = await openServices(destination, data, claimed, undo);
  // Once more: now the processes end before what they use.
  undo.push(() => fleet.stop());
  await tellPlaces(request, data, services, screen);
  // Where the files stand when the run begins.
  const before = await countsBefore(services);
  const deliveredBefore = await deliveredSoFar(services.database);
  return { ...services, request, data, fleet, adminKey, screen, before, deliveredBefore, stop };
}

/** A dry run keeps nothing; any other goes on with what its pipeline has. */
async function openData(request: RunRequest, undo: Undo[]): Promise<DataDirectory> {
  const passing = request.dryRun && (await mkdtemp(join(tmpdir(), 'millrace-dry-')));
  if (passing) undo.push(() => rm(passing, { recursive: true, force: true }));
  const folder = passing || request.data;
  const data = folder ? new DataDirectory(folder) : await dataOf(request.destination);
  await data.create();
  return data;
}

/** Where database and Redis of a run are: those that are configured, or private ones in the data directory, which is taken. */
export async function claimPlaces({ fresh, dryRun }: RunRequest, data: DataDirectory, undo: Undo[]) {
  const { REDIS_URL, DATABASE_URL } = await placesConfig();
  // Before anything is touched: --fresh would forget the data of a run that cannot begin.
  if (!REDIS_URL) requireRedisServer();
  if (fresh && DATABASE_URL && !dryRun)
    throw new CliError(
      '--fresh forgets a data folder, not a database that others may use; choose another ?schema= or database instead',
      CLI_EXIT.usage,
    );
  // False when the run before did not come to its end.
  const { cleanStart: clean } = await data.claim();
  undo.push(() => data.release());
  if (fresh) await data.wipe();
  // A dry run batches to see what comes of it; that belongs into nobody's tables.
  const databaseUrl = (!dryRun && DATABASE_URL) || data.databaseUrl;
  if (REDIS_URL) return { places: { redisUrl: REDIS_URL, databaseUrl }, clean };
  // Of this run alone: it begins empty.
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
) {
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

async function tellPlaces(
  request: RunRequest,
  data: DataDirectory,
  { pipeline, places, database }: Services,
  screen: Screen,
): Promise<void> {
  const { directory, out, destination } = request;
  if (request.dryRun) return;
  await data.writeCard({ id: pipeline.id, destination });
  await tellPipeline(pipeline, { data, databaseUrl: places.databaseUrl });
  for (const [what, path] of Object.entries({ output: out, data: data.path }))
    if (isInside(path, directory))
      screen.note(`The ${what} folder ${path} is inside the directory; it is left out of the scan.`);
  if (request.fresh && !request.url && hasManifest(request))
    screen.note(
      `Everything is delivered again. Batches made before stay in ${out}; remove them if nobody needs them.`,
    );
  for (const change of await changedBudget(request, database)) screen.note(change);
}

/** Whether a run has written batches there to its end. */
export function hasManifest({ out }: RunRequest): boolean {
  return existsSync(join(out, 'manifest.json'));
}

/** Counts the files, after those whose failure is known to nobody any more are given another try. */
async function countsBefore({ database, ownRedis }: Services): Promise<FleetCounts> {
  const counts = await readCounts(database);
  const retried = ownRedis && counts.files.failed ? await retryUntold(database) : 0;
  return retried > 0 ? readCounts(database) : counts;
}
