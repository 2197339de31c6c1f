import type { Socket } from 'node:net';
import pg from 'pg';
import type { DataSource, DataSourceOptions, QueryRunner } from 'typeorm';
import { faultPoint, messageOf } from '#service';
import { CommitUnknownError, databaseUnavailable, settingsNotInForce } from './database.errors.js';
import { SnakeCase } from './entities/columns.js';
import { ENTITIES } from './entities/index.js';
import { errorKind } from './error-kind.js';
import {
  keepsSettings,
  requireInForce,
  setLocally,
  startupOptions,
  wrapStatements,
  type SessionSettings,
} from './postgres-settings.js';
import { opened, ReadSource, type ReadOptions, type Settings, type Store, type Work } from './store.js';

/** `schema` holds the tables and is made by the migrations. Unless given, the role's own search path decides. */
type PostgresOptions = Settings & { schema?: string | undefined };

const INT8 = 20;
const NUMERIC = 1700;
// Beyond the server's own limit, for the case that no answer can arrive any more (half-open connection).
const ANSWER_GRACE_MS = 5_000;

// What a pipeline works on is in memory, so a lookup by an index costs little more than a page of a scan. The server's default
// (4, a disk that turns) makes each commit and delivery read the whole table for the few thousand rows that it is about.
const IN_MEMORY = 1.1;

const STATEMENT_POOLING = /statement pooling/;

/**
 * PostgreSQL behind TypeORM and pg's pool. Every wait has a limit: for a connection, a statement, an answer, idleness. A
 * session begins with these limits, its schema and read-only; behind a pooler each transaction sets them for itself.
 */
export class PostgresStore implements Store {
  readonly source: ReadSource;
  private readonly settings: SessionSettings;
  /** What begins every transaction besides its mode. */
  private local = '';

  constructor(private readonly options: PostgresOptions) {
    this.source = new ReadSource(postgresSource(options));
    this.settings = {
      statement_timeout: options.statementTimeoutMs,
      idle_in_transaction_session_timeout: options.transactionTimeoutMs,
      ...(options.schema && { search_path: options.schema }),
      random_page_cost: IN_MEMORY,
    };
  }

  async open(): Promise<void> {
    await this.chooseSettings();
    await this.source.initialize();
    bearErrors(this.source);
    await this.transact((manager) => requireInForce(manager, this.settings), 'READ ONLY');
  }

  private async chooseSettings(): Promise<void> {
    const { url, connectTimeoutMs, applicationName, logger } = this.options;
    const options = startupOptions(this.settings);
    const client = { connectionString: url, application_name: applicationName };
    const kept = await keepsSettings({ ...client, options, connectionTimeoutMillis: connectTimeoutMs });
    this.source.setOptions({ extra: { ...clientSettings(this.options), ...(kept && { options }) } });
    this.local = kept ? '' : setLocally(this.settings);
    this.source.wrap = kept
      ? undefined
      : (runner) => wrapStatements(runner, () => this.begin(runner, 'READ ONLY'), abandon);
    if (!kept)
      logger.info('the database is behind a pooler: each transaction sets its own limits and schema');
  }

  async close(): Promise<void> {
    if (this.source.isInitialized) await this.source.destroy();
  }

  attempt<T>(work: Work<T>): Promise<T> {
    return this.transact(work, 'READ WRITE');
  }

  read<T>(work: Work<T>, { statementTimeoutMs }: ReadOptions = {}): Promise<T> {
    if (statementTimeoutMs === undefined) return work(opened(this.source).manager);
    return this.snapshot(async (manager) => {
      await manager.query(`SET LOCAL statement_timeout = ${statementTimeoutMs}`);
      return work(manager);
    });
  }

  snapshot<T>(work: Work<T>): Promise<T> {
    return this.transact(work, 'READ ONLY, ISOLATION LEVEL REPEATABLE READ');
  }

  private async transact<T>(work: Work<T>, mode: string): Promise<T> {
    const runner = opened(this.source).createQueryRunner();
    try {
      await this.begin(runner, mode);
      const value = await work(runner.manager);
      await faultPoint('database.before-commit');
      await commit(runner);
      await faultPoint('database.after-commit');
      return value;
    } catch (error) {
      await abandon(runner, error);
      throw error;
    } finally {
      await runner.release();
    }
  }

  private async begin(runner: QueryRunner, mode: string): Promise<void> {
    // Tells repositories, and `abandon`, that there is a transaction; TypeORM's own way to begin cannot say READ WRITE.
    Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
    await runner.query(`START TRANSACTION ${mode}${this.local}`);
  }

  explain(error: unknown): Error {
    const reason = messageOf(error);
    if (STATEMENT_POOLING.test(reason)) return settingsNotInForce(reason);
    return databaseUnavailable(`PostgreSQL at ${address(this.options.url)} is not usable: ${reason}`, error);
  }
}

function postgresSource(options: PostgresOptions): DataSourceOptions {
  return {
    type: 'postgres',
    url: options.url,
    poolSize: options.poolSize,
    connectTimeoutMS: options.connectTimeoutMs,
    applicationName: options.applicationName,
    // An idle connection that breaks is replaced when it is next needed.
    poolErrorHandler: (error: unknown) =>
      options.logger.warn({ err: error }, 'idle database connection lost'),
    entities: ENTITIES,
    namingStrategy: new SnakeCase(),
    installExtensions: false,
    synchronize: false,
    logging: false,
  };
}

function clientSettings(options: PostgresOptions): pg.ClientConfig {
  return {
    query_timeout: options.statementTimeoutMs + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
  };
}

/**
 * A server that ends a connection in the instant it was made tells so before TypeORM listens for errors on it, which would
 * end the process. Whoever uses the connection next is told by its failing query.
 */
function bearErrors(source: DataSource): void {
  const { master } = source.driver as unknown as { master: pg.Pool };
  master.on('connect', (client) => client.on('error', () => {}));
}

/** Integers and sums as numbers: ours are far below 2^53. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8 || oid === NUMERIC) return Number;
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown;
}

async function commit(runner: QueryRunner): Promise<void> {
  // A connection that broke before: COMMIT is never sent, so the outcome is known.
  if (runner.isReleased) throw new Error('Connection terminated before COMMIT');
  try {
    await runner.commitTransaction();
  } catch (error) {
    const kind = errorKind(error);
    throw kind === 'connection-lost' || kind === 'timeout' ? new CommitUnknownError(error) : error;
  }
}

/** Ends the transaction, or the connection when the transaction cannot be ended on it. */
async function abandon(runner: QueryRunner, cause: unknown): Promise<void> {
  if (runner.isReleased || !runner.isTransactionActive) return;
  if (errorKind(cause) !== 'connection-lost' && !(cause instanceof CommitUnknownError))
    try {
      return await runner.rollbackTransaction();
    } catch {
      // Falls through: a connection that cannot roll back is not given to anybody else.
    }
  const client = (await runner.connect()) as { connection?: { stream?: Socket } };
  client.connection?.stream?.destroy();
}

function address(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
