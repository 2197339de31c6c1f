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

type Sql = (source: string, extra: string[]) => string;

// Keeps one statement short enough for the others that wait.
const MAX_ROWS = 5_000;

/** Inserts many rows with few statements. Returns how many rows were inserted or updated. */
export function bulkInsert(tx: EntityManager, insert: BulkInsert): Promise<number> {
  return bulkExecute(tx, { ...insert, alias: 'v' }, insertInto(insert));
}

/** Inserts many rows and returns what `returning` names of those inserted or updated, in no particular order. */
export function bulkInsertReturning<Row extends object>(
  tx: EntityManager,
  insert: BulkInsert,
  returning: string,
): Promise<Row[]> {
  const sql = insertInto(insert);
  return bulkQuery<Row>(tx, { ...insert, alias: 'v' }, (source) => `${sql(source)} RETURNING ${returning}`);
}

/**
 * Runs one statement for each slice of the rows, with the slice readable as a table under `alias`, and returns the rows of
 * all: `UPDATE files SET … FROM ${source} WHERE files.id = v.id AND worker_id = ${extra[0]} RETURNING files.id`.
 */
export async function bulkQuery<Row extends object>(
  tx: EntityManager,
  set: BulkSet,
  sql: Sql,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const [text, params] of statements(tx, set, sql))
    for (const row of await queryRows<Row>(tx, text, params)) found.push(row);
  return found;
}

/** Like `bulkQuery` for statements without RETURNING: returns how many rows they changed, which costs nothing a row. */
export async function bulkExecute(tx: EntityManager, set: BulkSet, sql: Sql): Promise<number> {
  let changed = 0;
  for (const [text, params] of statements(tx, set, sql)) changed += await execute(tx, text, params);
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

function* statements(
  tx: EntityManager,
  { columns, rows: all, alias, extra = [] }: BulkSet,
  sql: Sql,
): Generator<[sql: string, params: unknown[]]> {
  for (let from = 0; from < all.length; from += MAX_ROWS) {
    const rows = all.slice(from, from + MAX_ROWS);
    const { source, params } = rowSource(tx, { columns, rows }, alias);
    const names = extra.map((_, index) => `$${params.length + 1 + index}`);
    yield [sql(source, names), [...params, ...extra]];
  }
}

function insertInto({ table, columns, onConflict }: BulkInsert): (source: string) => string {
  const conflict = onConflict ? ` ON CONFLICT ${onConflict}` : '';
  const names = Object.keys(columns).join(', ');
  // WHERE keeps SQLite from reading ON CONFLICT as the ON of a join.
  return (source) => `INSERT INTO ${table} (${names}) SELECT * FROM ${source} WHERE true${conflict}`;
}

/**
 * The rows as a table, in one parameter (SQLite, JSON) or one a column (PostgreSQL, arrays): no limit on parameters is
 * met, and the statement's text stays the same for any number of rows.
 */
function rowSource(tx: EntityManager, set: RowSet, alias: string): { source: string; params: unknown[] } {
  const names = Object.keys(set.columns);
  if (dialectOf(tx) === 'postgres')
    return { source: `unnest(${arrayTypes(set)}) AS ${alias} (${names.join(', ')})`, params: byColumn(set) };
  // As JSONB a row is parsed once; as text, again for each of its columns.
  const fields = names.map((name, index) => `value ->> ${index} AS ${name}`).join(', ');
  return { source: `(SELECT ${fields} FROM jsonb_each($1)) AS ${alias}`, params: [JSON.stringify(set.rows)] };
}

function arrayTypes({ columns }: RowSet): string {
  return Object.values(columns)
    .map((type, index) => `$${index + 1}::${type === 'int' ? 'bigint' : 'text'}[]`)
    .join(', ');
}

function byColumn({ columns, rows }: RowSet): string[] {
  return Object.keys(columns).map((_, index) => arrayLiteral(rows.map((row) => row[index] ?? null)));
}

// In JSON, as in an array, a quote and a backslash are escaped by a backslash; what else JSON escapes an array knows raw only.
const OTHER_ESCAPE = /\\[^"\\]/;
const JSON_ESCAPE = /\\(?:u(....)|([bfnrt]))|\\[^]/g;
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** An array as PostgreSQL reads it, made from the JSON of it: the driver's own way takes ten times as long. */
function arrayLiteral(values: readonly SqlValue[]): string {
  const json = JSON.stringify(values);
  const text = OTHER_ESCAPE.test(json) ? json.replace(JSON_ESCAPE, unescaped) : json;
  return `{${text.slice(1, -1)}}`;
}

function unescaped(escape: string, hex?: string, letter?: string): string {
  if (hex !== undefined) return String.fromCharCode(parseInt(hex, 16));
  return letter === undefined ? escape : (ESCAPED[letter] ?? '');
}
