import { QueryFailedError, type EntityManager } from 'typeorm';
import type { SqliteConnection } from './sqlite-session.js';

/** Which database is behind: chosen once from DATABASE_URL, asked wherever SQL differs. */
export type Dialect = 'sqlite' | 'postgres';

// SQLite reads `$1` as a parameter *named* "$1"; `?1` is its spelling of "the first parameter".
const NUMBERED = /\$(\d+)/g;

/** SQL is written once, with `$1` placeholders; this spells it for the database. Literals must not contain `$<digit>`. */
export function spell(dialect: Dialect, sql: string): string {
  return dialect === 'sqlite' ? sql.replace(NUMBERED, '?$1') : sql;
}

/** `$from, …` for `count` parameters. */
export function placeholders(count: number, from = 1): string {
  return Array.from({ length: count }, (_, index) => `$${from + index}`).join(', ');
}

// As a subquery it is evaluated once a statement, not for every row, and an index can be searched by it.
const NOW: Record<Dialect, string> = {
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  postgres: '(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)',
};

/**
 * SQL for "now" in UTC milliseconds by the database's clock: one clock for all of a fleet. Leases and ages are judged by
 * it, never by the clock of a process, which may be wrong or jump. (SQLite's is the machine's, which all its users share.)
 */
export function databaseNow(asked: Asked): string {
  return NOW[dialectOf(asked)];
}

/** How PostgreSQL shall lock the rows of a SELECT. SQLite has one writer, which needs no word for it. */
export function rowLock(asked: Asked, lock: string): string {
  return dialectOf(asked) === 'postgres' ? lock : '';
}

export type SqlValue = string | number | null;

/** Whoever knows which database it is. */
export type Asked = EntityManager | { dialect: Dialect } | Dialect;

/** The database behind a manager. */
export function dialectOf(asked: Asked): Dialect {
  if (typeof asked === 'string') return asked;
  if ('dialect' in asked) return asked.dialect;
  return asked.connection.options.type === 'postgres' ? 'postgres' : 'sqlite';
}

/**
 * Rows of a SELECT or of a write with RETURNING, the same on both databases. Placeholders are `$1`, `$2`, …
 * Integers come back as numbers.
 */
export async function queryRows<Row extends object>(
  manager: EntityManager,
  sql: string,
  params: readonly unknown[] = [],
): Promise<Row[]> {
  if (dialectOf(manager) === 'sqlite') return (await onSqlite<Row>(manager, 'all', sql, params)).rows;
  const result = await manager.query<Row[] | [Row[], number]>(sql, [...params]);
  return isCounted(result) ? result[0] : result;
}

/** Runs a write of a transaction and returns how many rows it changed. Placeholders are `$1`, `$2`, … */
export async function execute(
  manager: EntityManager,
  sql: string,
  params: readonly unknown[] = [],
): Promise<number> {
  if (dialectOf(manager) === 'sqlite') return (await onSqlite(manager, 'run', sql, params)).changes;
  const result = await manager.queryRunner!.query(sql, [...params], true);
  return result.affected ?? 0;
}

/** TypeORM's runner takes longer than most statements, and gives no rows for what begins with INSERT, UPDATE or DELETE. */
async function onSqlite<Row extends object>(
  manager: EntityManager,
  verb: 'all' | 'run',
  sql: string,
  params: readonly unknown[],
): Promise<{ rows: Row[]; changes: number }> {
  const { isInitialized, driver } = manager.connection;
  if (!isInitialized || manager.queryRunner?.isReleased) await manager.query(sql);
  const connection = (driver as unknown as { databaseConnection: SqliteConnection }).databaseConnection;
  const text = spell('sqlite', sql);
  return new Promise((resolve, reject) => {
    connection[verb](text, params, function (error, rows) {
      if (error) reject(new QueryFailedError(text, [...params], error));
      else resolve({ rows: rows as Row[], changes: (this as { changes?: number }).changes ?? 0 });
    });
  });
}

/** The one row of a query that always has one, such as an aggregate. */
export async function queryOne<Row extends object>(
  manager: EntityManager,
  sql: string,
  params: readonly unknown[] = [],
): Promise<Row> {
  const [row] = await queryRows<Row>(manager, sql, params);
  if (!row) throw new Error('query returned no row although it always should');
  return row;
}

// TypeORM answers UPDATE and DELETE on PostgreSQL with [rows, count].
function isCounted<Row extends object>(result: Row[] | [Row[], number]): result is [Row[], number] {
  return result.length === 2 && Array.isArray(result[0]) && typeof result[1] === 'number';
}

/** Text that both databases can store: PostgreSQL refuses NUL, so it becomes its visible symbol; lone surrogates U+FFFD. */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\u2400')).toString();
}

/** Values as one parameter, however many; `isIn` reads it. */
export function listOf(asked: Asked, values: readonly SqlValue[]): unknown {
  return dialectOf(asked) === 'postgres' ? values : JSON.stringify(values);
}

/** SQL for "is in the list that is parameter `position`". */
export function isIn(asked: Asked, position: number, type: 'text' | 'bigint' = 'text'): string {
  return dialectOf(asked) === 'postgres'
    ? `= ANY($${position}::${type}[])`
    : `IN (SELECT value FROM json_each($${position}))`;
}
