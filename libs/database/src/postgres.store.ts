import type { Socket } from 'node:net';
import pg from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { faultPoint, type Logger } from '#service';
import { CommitUnknownError, DatabaseUnavailableError } from './database.errors.js';
import { SnakeCase } from './entities/columns.js';
import { ENTITIES } from './entities/index.js';
import { errorKind, messageOf } from './error-kind.js';
import type { AttemptOptions, Store, Work } from './store.js';

export interface PostgresOptions {
  url: string;
  /** The schema that holds the tables; made by the migrations. Unless given, the role's own search path decides. */
  schema?: string | undefined;
  poolSize: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  transactionTimeoutMs: number;
  applicationName: string;
  logger: Logger;
}

const INT8 = 20;
const NUMERIC = 1700;
// Beyond the server's own limit, for the case that no answer can arrive any more (half-open connection).
const ANSWER_GRACE_MS = 5_000;

/** PostgreSQL behind TypeORM and pg's pool. Every wait has a limit: for a connection, a statement, an answer, idleness. */
export class PostgresStore implements Store {
  private source: DataSource | undefined;

  constructor(private readonly options: PostgresOptions) {}

  async open(): Promise<void> {
    const source = new DataSource({
      type: 'postgres',
      url: this.options.url,
      poolSize: this.options.poolSize,
      connectTimeoutMS: this.options.connectTimeoutMs,
      applicationName: this.options.applicationName,
      // An idle connection that breaks is replaced when it is next needed.
      poolErrorHandler: (error: unknown) =>
        this.options.logger.warn({ err: error }, 'idle database connection lost'),
      extra: clientSettings(this.options),
      entities: ENTITIES,
      namingStrategy: new SnakeCase(),
      installExtensions: false,
      synchronize: false,
      logging: false,
    });
    try {
      await source.initialize();
      bearErrors(source);
    } catch (error) {
      if (source.isInitialized) await source.destroy().catch(() => {});
      throw error;
    }
    this.source = source;
  }

  async close(): Promise<void> {
    const source = this.source;
    this.source = undefined;
    if (source?.isInitialized) await source.destroy();
  }

  inTurn<T>(transaction: () => Promise<T>): Promise<T> {
    return transaction();
  }

  async attempt<T>(work: Work<T>, { isolation }: AttemptOptions): Promise<T> {
    const runner = this.opened().createQueryRunner();
    try {
      await runner.startTransaction(isolation);
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

  read<T>(work: Work<T>): Promise<T> {
    return work(this.opened().manager);
  }

  snapshot<T>(work: Work<T>): Promise<T> {
    return this.attempt(
      async (manager) => {
        await manager.query('SET TRANSACTION READ ONLY');
        return work(manager);
      },
      { isolation: 'REPEATABLE READ' },
    );
  }

  explain(error: unknown): Error {
    const reason = messageOf(error);
    return new DatabaseUnavailableError(
      `PostgreSQL at ${address(this.options.url)} is not usable: ${reason}`,
      error,
    );
  }

  private opened(): DataSource {
    if (!this.source?.isInitialized) throw new Error('Driver not Connected');
    return this.source;
  }
}

function clientSettings(options: PostgresOptions): pg.ClientConfig {
  return {
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + ANSWER_GRACE_MS,
    idle_in_transaction_session_timeout: options.transactionTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // The server, too, gives up on a client that no longer acknowledges, and frees its locks.
    options:
      `${options.schema ? `-c search_path=${options.schema} ` : ''}` +
      '-c tcp_user_timeout=15000 -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2',
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
