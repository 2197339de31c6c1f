import {
  DataSource,
  type EntityManager,
  type EntityMetadata,
  type EntityTarget,
  type QueryRunner,
  type ReplicationMode,
} from 'typeorm';
import type { Logger, Metrics } from '#service';
import { DatabaseClosedError } from './database.errors.js';
import type { RetryPolicy } from './retry.js';

export type Work<T> = (manager: EntityManager) => Promise<T>;

/** What has a default. */
export interface Limits extends Omit<RetryPolicy, 'onRetry'> {
  /** Connections to PostgreSQL at most; SQLite has one writer and one reader. */
  poolSize: number;
  /** `check` never changes the schema, for processes whose role may not; they wait until another has migrated. */
  migrations: 'run' | 'check';
  connectTimeoutMs: number;
  /** How long one statement may take, migrations excepted. */
  statementTimeoutMs: number;
  applicationName: string;
}

export interface DatabaseOptions extends Partial<Limits> {
  /** `sqlite:path` or `postgres://user:password@host/database[?schema=name]`. */
  url: string;
  /** PostgreSQL only: a replica for reads that may lag. */
  readUrl?: string | undefined;
  logger: Logger;
  metrics: Metrics;
}

export type Settings = DatabaseOptions & Limits;

export interface ReadOptions {
  /** A shorter limit for each statement than the process has, for a person who waits. */
  statementTimeoutMs?: number;
  /** For lists and figures that people look at: a replica may serve it, a moment behind. Never what a decision rests on. */
  mayLag?: boolean;
}

/**
 * One database behind its driver. `attempt` is one try of one transaction: it commits what `work` wrote or leaves nothing
 * of it, and throws the driver's error (or CommitUnknownError). Retrying is the caller's. Until its source is
 * ready, so for migrations, SQLite sets no limit to statements; on PostgreSQL their transaction says so itself.
 */
export interface Store {
  /** That of reads. Not ready until somebody says so. */
  readonly source: ReadSource;
  /** Connects; leaves nothing open when it rejects. */
  open(): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
  attempt<T>(work: Work<T>): Promise<T>;
  /** Committed data only; each statement sees its own moment. */
  read<T>(work: Work<T>, options?: ReadOptions): Promise<T>;
  /** Committed data as of one moment for all statements of `work`. */
  snapshot<T>(work: Work<T>): Promise<T>;
  /** The driver's start-up error, as one that names the cure. */
  explain(error: unknown): Error;
}

/**
 * The data source of every injected repository. It is made before it connects, reads what is committed and refuses writes:
 * those go through `tx.withRepository(repository)` inside `Database.inTransaction`, where they are part of one commit.
 */
export class ReadSource extends DataSource {
  /** True from when the database was found to have our schema until it is stopped. */
  ready = false;
  /** What a query runner needs to keep its settings, where its session does not. */
  wrap: ((runner: QueryRunner) => QueryRunner) | undefined;

  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    return this.wrap ? this.wrap(runner) : runner;
  }

  /** Every repository asks this first, so it is where one that nobody connected yet is told. */
  override getMetadata(target: EntityTarget<object>): EntityMetadata {
    if (!this.ready) throw new DatabaseClosedError();
    return super.getMetadata(target);
  }
}

/** The source, unless it was closed or has not been opened: what `errorKind` takes for a lost connection. */
export function opened(source: DataSource): DataSource {
  if (!source.isInitialized) throw new Error('Driver not Connected');
  return source;
}
