import { Choice, DatabaseUrl, Int } from '#config';

export const DEFAULT_FOLDER = '.millrace';
export const DEFAULT_DATABASE_URL = `sqlite:${DEFAULT_FOLDER}/millrace.db`;

/** The keys of every app that uses the database. */
export class DatabaseConfig {
  @DatabaseUrl(
    'Where the database is: sqlite:<path>, or postgres://user:password@host:port/database, with ?schema=name for one of several pipelines there.',
    DEFAULT_DATABASE_URL,
  )
  DATABASE_URL!: string;

  @Int('Connections to PostgreSQL that one process may hold.', 10, { min: 2, max: 1_000 })
  DATABASE_POOL_SIZE!: number;

  @Choice(
    'Whether this process brings the schema up to date (`run`), or waits until another has (`check`).',
    'run',
    ['run', 'check'],
  )
  DATABASE_MIGRATIONS!: 'run' | 'check';
}
