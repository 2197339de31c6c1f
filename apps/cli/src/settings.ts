import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { shownDestination } from '#contracts';
import type { Database, PipelineRow } from '#database';
import { Metrics, silentLogger } from '#service';
import { placesConfig } from './cli.config.js';
import { CLI_EXIT, CliError } from './cli.errors.js';
import { acting, print } from './command.js';
import { DATA_ROOT, DataDirectory, namedOrLast, others } from './fleet/data-directory.js';
import type { OutputFormat } from './output/table.js';

export interface GlobalOptions {
  /** Undefined: the pipelines in the working directory. */
  data?: string;
  output: OutputFormat;
}

/** Where the state of a pipeline is: where MILLRACE_DATABASE_URL and MILLRACE_REDIS_URL say, else in its data directory. */
export type Places = Awaited<ReturnType<typeof placesOf>>;

/** Those of the pipeline that was used last, unless --data names another. */
export async function placesOf({ data: named }: Pick<GlobalOptions, 'data'>) {
  const data = (await namedOrLast(named)) ?? new DataDirectory(DATA_ROOT);
  const running = await data.running();
  const { DATABASE_URL, REDIS_URL } = await placesConfig();
  return {
    data,
    databaseUrl: DATABASE_URL || running?.databaseUrl || data.databaseUrl,
    // Undefined when no fleet runs on the data directory and no Redis is configured.
    redisUrl: REDIS_URL || running?.redisUrl,
    adminUrl: running?.adminUrl,
    adminKey: running?.adminKey,
  };
}

/** Opens the database for a command, says whose it is, and closes it afterwards. One that is not there is an error. */
export async function withDatabase<T>(places: Places, use: (database: Database) => Promise<T>): Promise<T> {
  const path = /^sqlite:(.+)$/.exec(places.databaseUrl)?.[1];
  if (path && !existsSync(path))
    throw new CliError(
      `there is no database at ${resolve(path)}; run \`millrace run <directory>\` first, or point at one with --data or MILLRACE_DATABASE_URL`,
      CLI_EXIT.noInput,
    );
  return opened(places, 'check', async (database) => {
    const { readPipeline } = await import('#database');
    const row = await database.read(readPipeline);
    if (row) await tellPipeline(row, places);
    return use(database);
  });
}

/** A database with where it and the rest of the pipeline are. */
export type Looked = Places & { database: Database };

/** The action of a command that looks into the database and prints what it finds. */
export function looking<Found, Options extends GlobalOptions = GlobalOptions>(
  find: (at: Looked, options: Options, ...given: string[]) => Promise<Found>,
  report: (found: Found) => string,
) {
  return acting(async (options: Options, ...given: string[]) => {
    const places = await placesOf(options);
    const look = (database: Database): Promise<Found> => find({ ...places, database }, options, ...given);
    print(options, await withDatabase(places, look), report);
  });
}

/** Names the pipeline that a command speaks of. On standard error: what is printed is the answer alone. */
export async function tellPipeline(
  { id, destination }: PipelineRow,
  { data, databaseUrl }: Pick<Places, 'data' | 'databaseUrl'>,
): Promise<void> {
  const where = databaseUrl === data.databaseUrl ? ` (data in ${data.path})` : '';
  process.stderr.write(`${pipelineName(id, destination)}${where}\n`);
  const more = where ? await others(data) : [];
  if (more.length > 0)
    process.stderr.write(
      `Other pipelines here, to choose from:\n${more.map((line) => `  ${line}`).join('\n')}\n`,
    );
}

export function pipelineName(id: string, destination: PipelineRow['destination']): string {
  return `Pipeline ${id.slice(0, 8)} → ${destination ? shownDestination(destination) : 'no destination yet'}`;
}

/** The database with no word said of it, made and migrated when `run` says so: for what comes before the first run. */
export async function opened<T>(
  { databaseUrl }: Places,
  migrations: 'run' | 'check',
  use: (database: Database) => Promise<T>,
): Promise<T> {
  // A proof over millions of rows takes what it takes; nobody else waits for it.
  const database = await openDatabase(databaseUrl, { migrations, statementTimeoutMs: 600_000 });
  try {
    return await use(database);
  } finally {
    await database.stop();
  }
}

/** A command reports by itself what matters to its user; nothing else may stand in what it prints. */
export async function openDatabase(
  url: string,
  limits: { migrations?: 'run' | 'check'; statementTimeoutMs?: number } = {},
): Promise<Database> {
  const { Database } = await import('#database');
  const own = { logger: silentLogger, metrics: new Metrics(), poolSize: 2 };
  const database = new Database({ url, ...limits, ...own });
  await database.start();
  return database;
}
