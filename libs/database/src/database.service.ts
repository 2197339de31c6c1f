import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { down, errorCode, MillraceError, systemClock, UP, within, type Health, type Service } from '#service';
import { parseDatabaseUrl, shownAddress, type DatabaseAddress } from './database-url.js';
import {
  DatabaseClosedError,
  invalidDatabaseUrl,
  statementTimeout,
  transactionTimeout,
} from './database.errors.js';
import { errorKind, type DatabaseErrorKind } from './error-kind.js';
import { isBehind, migrate, requireCurrent, schemaVersion } from './migrator.js';
import { PostgresStore } from './postgres.store.js';
import { queryRows, type Dialect } from './query.js';
import { ReadReplica } from './read-replica.js';
import { retryTransaction } from './retry.js';
import { SqliteStore } from './sqlite.store.js';
import type { DatabaseOptions, Limits, ReadOptions, ReadSource, Settings, Store, Work } from './store.js';
import { Mutex } from './mutex.js';

const DEFAULTS: Limits = {
  poolSize: 10,
  migrations: 'run',
  connectTimeoutMs: 5_000,
  statementTimeoutMs: 30_000,
  transactionTimeoutMs: 60_000,
  busyTimeoutMs: 30_000,
  maxTries: 5,
  applicationName: 'millrace',
  clock: systemClock,
};

const HEALTH_TIMEOUT_MS = 2_000;

export interface TransactionOptions {
  /**
   * False for work that uses the manager it is given and nothing else. Calls of this database within it do not join:
   * a read sees what is committed, and another transaction waits, on SQLite for the end of this one, so until it times out.
   * What it saves: on Node 20 an ambient context taxes every promise of the process while the transaction is open.
   */
  ambient?: boolean;
}

interface OpenTransaction {
  manager: EntityManager;
  open: boolean;
}

/**
 * The database as the rest of the system sees it: transactions that either happened or did not, and reads of what was
 * committed. Safe to start again after a failed start; `stop` lets running transactions end.
 */
export class Database implements Service {
  readonly name = 'database';
  private readonly options: Settings;
  private readonly address: DatabaseAddress;
  private readonly store: Store;
  private readonly replica: ReadReplica | undefined;
  private readonly durations;
  private readonly retries;
  private readonly current = new AsyncLocalStorage<OpenTransaction>();
  private openTransactions = 0;
  private readonly running = new Set<Promise<unknown>>();
  /** Transactions of this process on SQLite, which has one writer: in the order in which they came. */
  private readonly turns = new Mutex();
  /** Starts and stops, one at a time. */
  private readonly changes = new Mutex();
  /** As the last transaction found it. */
  private diskFull = false;

  constructor(options: DatabaseOptions) {
    this.options = withDefaults(options);
    this.address = parseDatabaseUrl(options.url);
    this.store =
      this.address.dialect === 'sqlite'
        ? new SqliteStore(this.address.path, this.options.statementTimeoutMs)
        : new PostgresStore({ ...this.options, ...this.address });
    this.replica = this.createReplica();
    this.durations = options.metrics.histogram<'outcome'>({
      name: 'millrace_database_transaction_seconds',
      help: 'Time of a transaction from its call to its end, waits and retries included.',
      labels: ['outcome'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    });
    this.retries = options.metrics.counter<'reason'>({
      name: 'millrace_database_retries_total',
      help: 'Transactions tried again, by what ended the try before.',
      labels: ['reason'],
    });
  }

  /** That of injected repositories; this connects it. */
  get source(): ReadSource {
    return this.store.source;
  }

  /** The repository that the container would inject, for those without a container. */
  repository<E extends ObjectLiteral>(entity: EntityTarget<E>): Repository<E> {
    return this.source.getRepository(entity);
  }

  get dialect(): Dialect {
    return this.address.dialect;
  }

  /** Where it is, without secrets. */
  get place(): string {
    return shownAddress(this.address);
  }

  get isOpen(): boolean {
    return this.source.ready;
  }

  start(signal?: AbortSignal): Promise<void> {
    return this.changes.runExclusive(() => this.open(signal));
  }

  stop(): Promise<void> {
    return this.changes.runExclusive(() => this.close());
  }

  async health(): Promise<Health> {
    if (!this.isOpen) return down('database is not connected');
    if (this.diskFull) return down("the database's disk is full; free space there");
    const probe = this.store
      .read((manager) => manager.query('SELECT 1'))
      .then(
        () => UP,
        (error: Error) => down(`database does not answer: ${error.message}`),
      );
    return within(HEALTH_TIMEOUT_MS, probe, () =>
      down(`database did not answer within ${HEALTH_TIMEOUT_MS} ms`),
    );
  }

  /**
   * Runs `work` in one transaction and commits. It may run again from the start after a conflict, a busy lock or a lost
   * connection, so it must have no effects outside the database. A call inside a transaction joins it, unless that one is
   * not `ambient`: there is one commit, the outer one's. Throws CommitUnknownError when the connection broke during COMMIT.
   */
  async inTransaction<T>(work: Work<T>, options: TransactionOptions = {}): Promise<T> {
    const joined = this.openTransaction();
    if (joined) return work(joined);
    this.requireOpen();
    const ended = this.durations.startTimer();
    const transact = (): Promise<T> => this.transact(work, options);
    const transaction = this.dialect === 'sqlite' ? this.turns.runExclusive(transact) : transact();
    transaction.then(
      () => ended({ outcome: 'committed' }),
      () => ended({ outcome: 'failed' }),
    );
    return this.track(transaction);
  }

  /** Reads committed data; inside a transaction, reads what that transaction sees. Writes are refused. */
  async read<T>(work: Work<T>, options?: ReadOptions): Promise<T> {
    const joined = this.openTransaction();
    if (joined) return work(joined);
    this.requireOpen();
    const reads =
      options?.mayLag && this.replica ? this.replica.read(work, options) : this.store.read(work, options);
    return this.track(reads.catch(rethrowTooSlow));
  }

  /** The rows of one query, read as by `read`. Placeholders are `$1`, `$2`, … */
  rows<Row extends object>(sql: string, params?: readonly unknown[], options?: ReadOptions): Promise<Row[]> {
    return this.read((manager) => queryRows<Row>(manager, sql, params), options);
  }

  /** Reads that all see the database as it was at one moment. */
  async snapshot<T>(work: Work<T>): Promise<T> {
    this.requireOpen();
    return this.track(this.store.snapshot(work).catch(rethrowTooSlow));
  }

  private async close(): Promise<void> {
    this.source.ready = false;
    await Promise.allSettled([...this.running]);
    await this.replica?.close();
    await this.store.close();
  }

  private async open(signal?: AbortSignal): Promise<void> {
    if (this.isOpen) return;
    try {
      await this.store.open();
      signal?.throwIfAborted();
      await this.ensureSchema();
      this.source.ready = true;
    } catch (error) {
      await this.store.close();
      throw error instanceof MillraceError ? error : this.store.explain(error);
    }
  }

  private createReplica(): ReadReplica | undefined {
    const { readUrl, logger, clock } = this.options;
    if (readUrl === undefined) return undefined;
    const address = parseDatabaseUrl(readUrl);
    if (address.dialect !== 'postgres' || this.address.dialect !== 'postgres')
      throw invalidDatabaseUrl('only PostgreSQL has read replicas; leave out READ_DATABASE_URL');
    const options = { ...this.options, schema: this.address.schema, ...address };
    const replica = new PostgresStore(options);
    replica.source.ready = true;
    return new ReadReplica(replica, this.store, logger, clock);
  }

  private async ensureSchema(): Promise<void> {
    const found = await this.store.read(schemaVersion);
    if (this.options.migrations === 'check') return requireCurrent(found);
    if (!isBehind(found)) return;
    const applied = await this.transact((tx) => migrate(tx), { ambient: false });
    if (applied.length > 0) this.options.logger.info({ from: found, applied }, 'database schema migrated');
  }

  private async transact<T>(work: Work<T>, { ambient = true }: TransactionOptions): Promise<T> {
    const { transactionTimeoutMs: limitMs } = this.options;
    const inTime: Work<T> = (tx) =>
      within(limitMs, work(tx), () => {
        throw transactionTimeout(limitMs);
      });
    const run: Work<T> = ambient ? (tx) => this.runAsCurrent(tx, inTime) : inTime;
    try {
      const onRetry = (reason: DatabaseErrorKind): void => this.retries.inc({ reason });
      const policy = { ...this.options, onRetry };
      const result = await retryTransaction(() => this.store.attempt(run), policy);
      this.diskFull = false;
      return result;
    } catch (error) {
      if (errorCode(error) === 'DISK_FULL') this.diskFull = true;
      throw error;
    }
  }

  private async runAsCurrent<T>(manager: EntityManager, work: Work<T>): Promise<T> {
    const transaction: OpenTransaction = { manager, open: true };
    this.openTransactions++;
    try {
      return await this.current.run(transaction, () => work(manager));
    } finally {
      transaction.open = false;
      // On Node 20 a storage in use taxes every promise of the process: a fifth of the time of small jobs.
      if (--this.openTransactions === 0) this.current.disable();
    }
  }

  /** The transaction around the caller, unless it has ended and only its context lives on in work it left behind. */
  private openTransaction(): EntityManager | undefined {
    const transaction = this.current.getStore();
    return transaction?.open ? transaction.manager : undefined;
  }

  private requireOpen(): void {
    if (!this.isOpen) throw new DatabaseClosedError();
  }

  private track<T>(work: Promise<T>): Promise<T> {
    this.running.add(work);
    return work.finally(() => this.running.delete(work));
  }
}

function rethrowTooSlow(error: unknown): never {
  throw errorKind(error) === 'too-slow' ? statementTimeout(error) : error;
}

function withDefaults(options: DatabaseOptions): Settings {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...(Object.fromEntries(given) as unknown as DatabaseOptions) };
}
