import sqlite3 from 'sqlite3';
import { DataSource, type DataSourceOptions, type QueryRunner } from 'typeorm';
import { errorCode, faultPoint, systemClock } from '#service';
import { databaseBusy, databaseCorrupt, databaseFileUnusable } from './database.errors.js';
import { ENTITIES } from './entities/index.js';
import { SnakeCase } from './entities/columns.js';
import { errorKind } from './error-kind.js';
import { queryRows } from './query.js';
import { retryTransaction } from './retry.js';
import { prepareSqliteFile } from './sqlite-file.js';
import { SqliteSession, type SqliteConnection } from './sqlite-session.js';
import { opened, ReadSource, type ReadOptions, type Store, type Work } from './store.js';

// How long one statement sleeps for the lock inside the driver; beyond it our own retry decides. SQLite sleeps longer each
// time, up to 100 ms, while the lock comes free every few: a writer must ask often, or others overtake it again and again.
const BUSY_TIMEOUT_MS = { writer: 8, reader: 1_000 };
// What does not fit is read from the system's cache, a memory copy away; a process has a writer and a reader.
const CACHE_KIB = { writer: 64 * 1024, reader: 8 * 1024 };
const WAL_LIMIT_BYTES = 64 * 1024 * 1024;
// Of a new database: rows of files grow when they are batched, which splits half as many pages of this size.
const PAGE_BYTES = 8_192;
const CHECKPOINT_PAGES = 6_000;

const OPENING = { maxTries: 1, busyTimeoutMs: 30_000, transactionTimeoutMs: 0, clock: systemClock };

/**
 * TypeORM asks the driver to be verbose: every call would then take a stack trace and print all its parameters, long texts
 * of whole batches among them, in case it fails. Its own error names the statement.
 */
const DRIVER = { ...sqlite3, verbose: () => DRIVER };

/** What of TypeORM's sqlite driver is not in its types. */
interface SqliteInternals {
  queryRunner: QueryRunner | undefined;
  databaseConnection: SqliteConnection;
}

/**
 * SQLite behind TypeORM. TypeORM has one connection a data source, on which statements of everybody interleave; so there
 * are two: a writer, on which transactions take turns and begin IMMEDIATE, and a reader, which therefore never sees what
 * may yet be rolled back. Write-ahead logging lets the reader go on while the writer writes.
 */
export class SqliteStore implements Store {
  readonly source: ReadSource;
  private readonly writer: DataSource;
  /** Readers of their own for reads with a shorter limit, opened at need: nobody else waits behind a slow search. */
  private readonly bounded = new Map<number, Promise<DataSource>>();

  constructor(
    private readonly path: string,
    private readonly statementTimeoutMs: number,
  ) {
    this.source = new ReadSource(sqliteSource(path, 'reader'));
    this.writer = new DataSource(sqliteSource(path, 'writer'));
  }

  async open(): Promise<void> {
    await prepareSqliteFile(this.path);
    try {
      // The writer comes first: switching a new file to write-ahead logging needs it alone.
      // A fleet that starts at once finds it busy, whatever the busy timeout: that switch does not wait.
      const { writer, source, statementTimeoutMs } = this;
      let isReady = false;
      const writerLimitMs = (): number => {
        isReady ||= source.ready;
        return isReady ? statementTimeoutMs : Infinity;
      };
      await retryTransaction(() => connect(writer, 'writer', writerLimitMs), OPENING);
      await retryTransaction(() => connect(source, 'reader', () => statementTimeoutMs), OPENING);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const opening of this.bounded.values()) await opening.then((one) => one.destroy()).catch(() => {});
    this.bounded.clear();
    // The last connection to close checkpoints the log, which a read-only one could not.
    if (this.source.isInitialized) await this.source.destroy();
    if (this.writer.isInitialized) await this.writer.destroy();
  }

  async attempt<T>(work: Work<T>): Promise<T> {
    const runner = freshRunner(opened(this.writer));
    await begin(runner);
    try {
      const value = await work(runner.manager);
      await faultPoint('database.before-commit');
      await queryRows(runner.manager, 'COMMIT');
      await faultPoint('database.after-commit');
      return value;
    } catch (error) {
      await rollback(runner);
      throw error;
    } finally {
      retire(runner);
    }
  }

  async read<T>(work: Work<T>, { statementTimeoutMs }: ReadOptions = {}): Promise<T> {
    const shared = opened(this.source);
    const reader = statementTimeoutMs === undefined ? shared : await this.boundedReader(statementTimeoutMs);
    return work(reader.manager);
  }

  private boundedReader(limitMs: number): Promise<DataSource> {
    const opening = this.bounded.get(limitMs) ?? this.ownReader(limitMs);
    this.bounded.set(limitMs, opening);
    opening.catch(() => this.bounded.delete(limitMs));
    return opening;
  }

  async snapshot<T>(work: Work<T>): Promise<T> {
    // On the shared reader, an open snapshot would freeze everybody's view.
    const connection = await this.ownReader(this.statementTimeoutMs);
    try {
      await connection.query('BEGIN');
      return await work(connection.manager);
    } finally {
      await connection.destroy();
    }
  }

  private async ownReader(limitMs: number): Promise<DataSource> {
    const source = new DataSource(sqliteSource(this.path, 'reader'));
    await connect(source, 'reader', () => limitMs);
    return source;
  }

  explain(error: unknown): Error {
    if (errorKind(error) === 'corrupt') return databaseCorrupt(this.path, error);
    if (errorKind(error) === 'busy') return databaseBusy(OPENING.busyTimeoutMs, error);
    if (['SQLITE_CANTOPEN', 'SQLITE_READONLY'].includes(errorCode(error) ?? ''))
      return databaseFileUnusable(
        this.path,
        'it cannot be opened for writing',
        'check the permissions of it, its -wal and -shm files and its directory',
        error,
      );
    return error instanceof Error ? error : new Error(String(error));
  }
}

type Role = 'writer' | 'reader';

function sqliteSource(path: string, role: Role): DataSourceOptions {
  return {
    type: 'sqlite',
    driver: DRIVER,
    database: path,
    busyTimeout: BUSY_TIMEOUT_MS[role],
    entities: ENTITIES,
    namingStrategy: new SnakeCase(),
    synchronize: false,
    logging: false,
  };
}

async function connect(source: DataSource, role: Role, limitMs: () => number): Promise<void> {
  await source.initialize();
  try {
    new SqliteSession(internals(source).databaseConnection, limitMs);
    for (const pragma of pragmas(role)) await source.query(`PRAGMA ${pragma}`);
  } catch (error) {
    await source.destroy();
    throw error;
  }
}

function pragmas(role: Role): string[] {
  const shared = ['synchronous = NORMAL', `cache_size = -${CACHE_KIB[role]}`, 'temp_store = MEMORY'];
  if (role === 'reader') return [...shared, 'query_only = ON'];
  return [
    `page_size = ${PAGE_BYTES}`,
    'journal_mode = WAL',
    `journal_size_limit = ${WAL_LIMIT_BYTES}`,
    `wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
    ...shared,
  ];
}

const internals = (source: DataSource): SqliteInternals => source.driver as unknown as SqliteInternals;

/** A runner of its own for each transaction, so that code that outlives its transaction cannot write into the next one. */
function freshRunner(source: DataSource): QueryRunner {
  internals(source).queryRunner = undefined;
  const runner = source.createQueryRunner();
  internals(source).queryRunner = undefined;
  return runner;
}

async function begin(runner: QueryRunner): Promise<void> {
  // TypeORM would begin DEFERRED: a read followed by a write then fails at once when another process wrote in between.
  await queryRows(runner.manager, 'BEGIN IMMEDIATE');
  // Tells repositories that they are inside a transaction and must not begin their own.
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
}

async function rollback(runner: QueryRunner): Promise<void> {
  await runner.query('ROLLBACK').catch((error: unknown) => {
    // SQLite has already rolled back by itself after some errors, a full disk among them.
    if (!/no transaction is active/.test(String(error))) throw error;
  });
}

function retire(runner: QueryRunner): void {
  Object.assign(runner, { isTransactionActive: false, transactionDepth: 0, isReleased: true });
}
