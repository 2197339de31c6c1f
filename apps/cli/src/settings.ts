import { resolve } from 'node:path';
import type { Database } from '#database';
import { createLogger, Metrics, type Logger } from '#service';
import { placesConfig } from './cli.config.js';
import { CLI_EXIT, CliError } from './cli.errors.js';
import { DataDirectory, isAlive } from './fleet/data-directory.js';
import type { OutputFormat } from './output/table.js';

export interface GlobalOptions {
  data: string;
  output: OutputFormat;
}

export const DEFAULT_DATA = '.millrace';

/** Where the state is: DATABASE_URL and REDIS_URL when given (environment, `.env`, JSON file), else the data directory. */
export interface Places {
  data: DataDirectory;
  databaseUrl: string;
  /** Undefined when no fleet runs on the data directory and REDIS_URL is not set. */
  redisUrl: string | undefined;
  /** That of the fleet that runs on the data directory. */
  adminUrl: string | undefined;
  adminKey: string | undefined;
}

export async function placesOf(options: Pick<GlobalOptions, 'data'>): Promise<Places> {
  const data = new DataDirectory(options.data);
  const running = await data.running();
  const live = running && isAlive(running.pid) ? running : undefined;
  const { DATABASE_URL, REDIS_URL } = await placesConfig();
  return {
    data,
    databaseUrl: DATABASE_URL || live?.databaseUrl || data.databaseUrl,
    redisUrl: REDIS_URL || live?.redisUrl,
    adminUrl: live?.adminUrl,
    adminKey: live?.adminKey,
  };
}

/** Opens the database for a command and closes it afterwards. One that is not there is an error, not a new one. */
export async function withDatabase<T>(places: Places, use: (database: Database) => Promise<T>): Promise<T> {
  const path = /^sqlite:(.+)$/.exec(places.databaseUrl)?.[1];
  if (path && !(await exists(path)))
    throw new CliError(
      `there is no database at ${resolve(path)}; run \`millrace run <directory>\` first, or point at one with --data or DATABASE_URL`,
      CLI_EXIT.noInput,
    );
  return opened(places, 'check', use);
}

/** The same, but makes and migrates the database when need be: for what comes before the first run. */
export function migratedDatabase<T>(places: Places, use: (database: Database) => Promise<T>): Promise<T> {
  return opened(places, 'run', use);
}

async function opened<T>(
  { databaseUrl }: Places,
  migrations: 'run' | 'check',
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const { Database } = await import('#database');
  const database = new Database({
    url: databaseUrl,
    logger: cliLogger(),
    metrics: new Metrics(),
    migrations,
    poolSize: 2,
  });
  await database.start();
  try {
    return await use(database);
  } finally {
    await database.stop();
  }
}

/** Problems of the libraries that the command itself does not report. */
export function cliLogger(): Logger {
  return createLogger({ service: 'millrace', workerId: 'cli', level: 'silent' });
}

async function exists(path: string): Promise<boolean> {
  const { access } = await import('node:fs/promises');
  return access(path).then(
    () => true,
    () => false,
  );
}
