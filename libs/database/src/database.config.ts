import { IsIn, IsInt, Max, Min } from 'class-validator';
import { IsDatabaseUrl, Key } from '#config';

export const DEFAULT_FOLDER = '.millrace';
export const DEFAULT_DATABASE_URL = `sqlite:${DEFAULT_FOLDER}/millrace.db`;

/** The keys of every app that uses the database. */
export class DatabaseConfig {
  @Key({
    meaning:
      'Where the database is: sqlite:<path>, or postgres://user:password@host:port/database, with ?schema=name for one of several pipelines there.',
    default: DEFAULT_DATABASE_URL,
    secret: 'url',
  })
  @IsDatabaseUrl()
  DATABASE_URL!: string;

  @Key({ meaning: 'Connections to PostgreSQL that one process may hold.', default: 10 })
  @IsInt()
  @Min(2)
  @Max(1_000)
  DATABASE_POOL_SIZE!: number;

  @Key({
    meaning:
      'Whether this process brings the schema up to date (`run`), or waits until another has (`check`).',
    default: 'run',
  })
  @IsIn(['run', 'check'])
  DATABASE_MIGRATIONS!: 'run' | 'check';
}
