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

// SQLite takes 32,766 parameters a statement. PostgreSQL gets one array a column and has no such limit.
const SQLITE_PARAMETERS = 32_766;
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
 * Runs one statement for each slice of the rows, with the slice readable as a table under `alias`:
 * `UPDATE files SET … FROM ${source} WHERE files.id = v.id RETURNING files.id`. Returns all rows of all slices.
 */
export async function bulkQuery<Row extends object>(
  tx: EntityManager,
  set: RowSet,
  alias: string,
  sql: (source: string) => string,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const rows of slices(set)) {
    const { source, params } = rowSource(tx, { columns: set.columns, rows }, alias);
    for (const row of await queryRows<Row>(tx, sql(source), params)) found.push(row);
  }
  return found;
}

/** Slices that every database takes in one statement. */
export function* slices({ columns, rows }: RowSet): Generator<readonly (readonly SqlValue[])[]> {
  const size = Math.min(MAX_ROWS, Math.floor(SQLITE_PARAMETERS / Object.keys(columns).length));
  for (let from = 0; from < rows.length; from += size) yield rows.slice(from, from + size);
}

interface Statement {
  sql: string;
  params: unknown[];
}

function* statements(tx: EntityManager, insert: BulkInsert): Generator<Statement> {
  const names = Object.keys(insert.columns).join(', ');
  const conflict = insert.onConflict ? ` ON CONFLICT ${insert.onConflict}` : '';
  for (const rows of slices(insert)) {
    const { values, params } = rowValues(tx, { columns: insert.columns, rows });
    yield { sql: `INSERT INTO ${insert.table} (${names}) ${values}${conflict}`, params };
  }
}

function rowValues(tx: EntityManager, set: RowSet): { values: string; params: unknown[] } {
  if (dialectOf(tx) === 'sqlite') return { values: `VALUES ${tuples(set)}`, params: set.rows.flat() };
  return { values: `SELECT * FROM unnest(${arrayTypes(set)})`, params: byColumn(set) };
}

function rowSource(tx: EntityManager, set: RowSet, alias: string): { source: string; params: unknown[] } {
  const names = Object.keys(set.columns);
  if (dialectOf(tx) === 'postgres')
    return { source: `unnest(${arrayTypes(set)}) AS ${alias} (${names.join(', ')})`, params: byColumn(set) };
  // SQLite names the columns of VALUES itself: column1, column2, …
  const named = names.map((name, index) => `column${index + 1} AS ${name}`).join(', ');
  return { source: `(SELECT ${named} FROM (VALUES ${tuples(set)})) AS ${alias}`, params: set.rows.flat() };
}

function tuples({ columns, rows }: RowSet): string {
  const tuple = `(${Array(Object.keys(columns).length).fill('?').join(',')})`;
  return Array(rows.length).fill(tuple).join(',');
}

function arrayTypes({ columns }: RowSet): string {
  return Object.values(columns)
    .map((type, index) => `$${index + 1}::${type === 'int' ? 'bigint' : 'text'}[]`)
    .join(', ');
}

function byColumn({ columns, rows }: RowSet): SqlValue[][] {
  return Object.keys(columns).map((_, index) => rows.map((row) => row[index] ?? null));
}
