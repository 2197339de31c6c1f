import type { EntityManager } from 'typeorm';
import { spell, type Dialect } from './dialect.js';

export type SqlValue = string | number | null;

/** The database behind a manager. */
export function dialectOf(manager: EntityManager): Dialect {
  return manager.connection.options.type === 'postgres' ? 'postgres' : 'sqlite';
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
  const dialect = dialectOf(manager);
  if (dialect === 'sqlite')
    // TypeORM gives no rows for what begins with INSERT, UPDATE or DELETE; a newline in front hides the verb.
    return manager.query<Row[]>(`\n${spell(dialect, sql)}`, [...params]);
  const result = await manager.query<Row[] | [Row[], number]>(sql, [...params]);
  return isCounted(result) ? result[0] : result;
}

/** Runs a write and returns how many rows it changed. Placeholders are `$1`, `$2`, … */
export async function execute(
  manager: EntityManager,
  sql: string,
  params: readonly unknown[] = [],
): Promise<number> {
  const runner = manager.queryRunner ?? manager.connection.createQueryRunner();
  try {
    const text = spell(dialectOf(manager), sql.trimStart());
    const result = await runner.query(text, [...params], true);
    return result.affected ?? 0;
  } finally {
    if (!manager.queryRunner) await runner.release();
  }
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
