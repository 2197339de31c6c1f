import type { EntityManager } from 'typeorm';
import { dialectOf, execute, queryRows, type SqlValue } from './query.js';

export type ColumnType = 'text' | 'int';

/** Many rows of the same columns, as the multi-row statements take them. */
export interface RowSet {
  columns: Readonly<Record<string, ColumnType>>;
  rows: readonly (readonly SqlValue[])[];
}

export interface BulkInsert extends RowSet {
  table: string;
  /** What follows ON CONFLICT, such as `(path_key) DO UPDATE SET size = excluded.size`; rows may not conflict among themselves. */
  onConflict?: string;
}

// Keeps one statement short enough for the others that wait.
const MAX_ROWS = 5_000;

/** Inserts many rows with few statements. Returns how many rows were inserted or updated. */
export async function bulkInsert(tx: EntityManager, insert: BulkInsert): Promise<number> {
  let written = 0;
  for (const part of statements(tx, insert)) written += await execute(tx, part.sql, part.params);
  return written;
}

/** Inserts many rows and returns what `returning` names of those inserted or updated, in no particular order. */
export async function bulkInsertReturning<Row extends object>(
  tx: EntityManager,
  insert: BulkInsert,
  returning: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const part of statements(tx, insert))
    for (const row of await queryRows<Row>(tx, `${part.sql} RETURNING ${returning}`, part.params))
      rows.push(row);
  return rows;
}

/**
 * Runs one statement for each slice of the rows, with the slice readable as a table under `alias`, and returns the rows of
 * all: `UPDATE files SET … FROM ${source} WHERE files.id = v.id AND worker_id = ${extra[0]} RETURNING files.id`.
 */
export async function bulkQuery<Row extends object>(
  tx: EntityManager,
  set: RowSet & { alias: string; extra?: readonly SqlValue[] },
  sql: (source: string, extra: string[]) => string,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const rows of slices(set.rows)) {
    const { source, params } = rowSource(tx, { columns: set.columns, rows }, set.alias);
    const extra = (set.extra ?? []).map((_, index) => `$${params.length + 1 + index}`);
    const result = await queryRows<Row>(tx, sql(source, extra), [...params, ...(set.extra ?? [])]);
    for (const row of result) found.push(row);
  }
  return found;
}

function* slices<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; from += MAX_ROWS) yield rows.slice(from, from + MAX_ROWS);
}

function* statements(tx: EntityManager, insert: BulkInsert): Generator<{ sql: string; params: unknown[] }> {
  const names = Object.keys(insert.columns).join(', ');
  const conflict = insert.onConflict ? ` ON CONFLICT ${insert.onConflict}` : '';
  for (const rows of slices(insert.rows)) {
    const { source, params } = rowSource(tx, { columns: insert.columns, rows }, 'v');
    // WHERE keeps SQLite from reading ON CONFLICT as the ON of a join.
    yield {
      sql: `INSERT INTO ${insert.table} (${names}) SELECT * FROM ${source} WHERE true${conflict}`,
      params,
    };
  }
}

/**
 * The rows as a table, in one parameter (SQLite, JSON) or one a column (PostgreSQL, arrays): no limit on parameters is
 * met, and the statement's text stays the same for any number of rows.
 */
function rowSource(tx: EntityManager, set: RowSet, alias: string): { source: string; params: unknown[] } {
  const names = Object.keys(set.columns);
  if (dialectOf(tx) === 'postgres')
    return { source: `unnest(${arrayTypes(set)}) AS ${alias} (${names.join(', ')})`, params: byColumn(set) };
  const fields = names.map((name, index) => `value ->> ${index} AS ${name}`).join(', ');
  return { source: `(SELECT ${fields} FROM json_each($1)) AS ${alias}`, params: [JSON.stringify(set.rows)] };
}

function arrayTypes({ columns }: RowSet): string {
  return Object.values(columns)
    .map((type, index) => `$${index + 1}::${type === 'int' ? 'bigint' : 'text'}[]`)
    .join(', ');
}

function byColumn({ columns, rows }: RowSet): SqlValue[][] {
  return Object.keys(columns).map((_, index) => rows.map((row) => row[index] ?? null));
}
