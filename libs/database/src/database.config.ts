import { Choice, DatabaseUrl, Int, REQUIRED } from '#config';

/** The keys of every app that uses the database. */
export class DatabaseConfig {
  @DatabaseUrl(
    'Where the database is: sqlite:<path>, or postgres://user:password@host:port/database, with ?schema=name for one of several pipelines there.',
    REQUIRED,
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
