import { Choice, CrossRule, DatabaseUrl, Int, OPTIONAL, REQUIRED } from '#config';

// What was not given, or as null, is told by its own rule.
const isPostgres = (url?: string | null): boolean => url?.startsWith('postgres') === true;

/** The keys of every app that uses the database. */
@CrossRule<DatabaseConfig>(
  ['READ_DATABASE_URL', 'DATABASE_URL'],
  'READ_DATABASE_URL needs PostgreSQL, as DATABASE_URL does: SQLite has no replicas',
  ({ READ_DATABASE_URL: replica, DATABASE_URL: primary }) =>
    !replica || (isPostgres(replica) && isPostgres(primary)),
)
export class DatabaseConfig {
  @DatabaseUrl(
    'Where the database is: sqlite:<path>, or postgres://user:password@host:port/database, with ?schema=name for one of several pipelines there.',
    REQUIRED,
  )
  DATABASE_URL!: string;

  @DatabaseUrl(
    'A read replica of it, for lists, status and metrics, which may be a moment old there. Claims, commits and proofs never use it.',
    OPTIONAL,
  )
  READ_DATABASE_URL?: string;

  @Int('Connections to PostgreSQL that one process may hold.', 10, [2, 1_000])
  DATABASE_POOL_SIZE!: number;

  @Int(
    'How long one statement may take, in milliseconds. It is then ended and its transaction rolled back.',
    30_000,
    [100, 3_600_000],
  )
  DATABASE_STATEMENT_TIMEOUT_MS!: number;

  @Choice(
    'Whether this process brings the schema up to date (`run`), or waits until another has (`check`).',
    'run',
    ['run', 'check'],
  )
  DATABASE_MIGRATIONS!: 'run' | 'check';
}
