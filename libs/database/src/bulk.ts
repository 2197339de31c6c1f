import type { EntityManager } from 'typeorm';
import { dialectOf, execute, queryOne, queryRows, type SqlValue } from './query.js';

export type ColumnType = 'text' | 'int';

/** Many rows of the same columns, as the multi-row statements take them. */
export interface RowSet {
  columns: Readonly<Record<string, ColumnType>>;
  rows: readonly (readonly SqlValue[])[];
}

interface BulkInsert extends RowSet {
  table: string;
  /** What follows ON CONFLICT, such as `(path_key) DO UPDATE SET size = excluded.size`; rows may not conflict among themselves. */
  onConflict?: string;
}

/** Rows under the name by which a statement reads them, and the values that are the same for all. */
export interface BulkSet extends RowSet {
  alias: string;
  extra?: readonly SqlValue[];
}

interface Statement {
  sql: string;
  params: unknown[];
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
  set: BulkSet,
  sql: (source: string, extra: string[]) => string,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const part of sliced(tx, set, sql))
    for (const row of await queryRows<Row>(tx, part.sql, part.params)) found.push(row);
  return found;
}

/** Like `bulkQuery` for statements without RETURNING: returns how many rows they changed, which costs nothing a row. */
export async function bulkExecute(
  tx: EntityManager,
  set: BulkSet,
  sql: (source: string, extra: string[]) => string,
): Promise<number> {
  let changed = 0;
  for (const part of sliced(tx, set, sql)) changed += await execute(tx, part.sql, part.params);
  return changed;
}

/**
 * Many rows of plain columns, in no particular order: `bulkSelect(tx, ['id', 'path'], 'FROM files WHERE id > $1 LIMIT 1000', [7])`.
 * SQLite hands them over as one text, which costs a third of as many row objects.
 */
export async function bulkSelect<Row extends object>(
  manager: EntityManager,
  columns: readonly (keyof Row & string)[],
  tail: string,
  params: readonly unknown[],
): Promise<Row[]> {
  const select = `SELECT ${columns.join(', ')} ${tail}`;
  if (dialectOf(manager) === 'postgres') return queryRows<Row>(manager, select, params);
  const fields = columns.map((name) => `'${name}', ${name}`).join(', ');
  const packed = `SELECT json_group_array(json_object(${fields})) AS rows FROM (${select})`;
  return JSON.parse((await queryOne<{ rows: string }>(manager, packed, params)).rows) as Row[];
}

function* sliced(
  tx: EntityManager,
  { columns, rows: all, alias, extra = [] }: BulkSet,
  sql: (source: string, extra: string[]) => string,
): Generator<Statement> {
  for (const rows of slices(all)) {
    const { source, params } = rowSource(tx, { columns, rows }, alias);
    const names = extra.map((_, index) => `$${params.length + 1 + index}`);
    yield { sql: sql(source, names), params: [...params, ...extra] };
  }
}

function* slices<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; from += MAX_ROWS) yield rows.slice(from, from + MAX_ROWS);
}

function* statements(tx: EntityManager, insert: BulkInsert): Generator<Statement> {
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
