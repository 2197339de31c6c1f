import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource, type EntityManager } from 'typeorm';
import { execute, type Dialect, type SqlValue } from '#database';
import { pathKey } from '#files';

export type Row = Record<string, SqlValue>;

/** A migration as it was released, and the rows that a database of its version held. */
export interface SchemaDump {
  version: number;
  name: string;
  statements: Record<Dialect, string[]>;
  /** In an order that foreign keys allow. */
  rows: Record<string, Row[]>;
}

export interface Places {
  tree: string;
  out: string;
}

/** What stands in a dump for the folders of whoever made it. */
export const PLACES: Places = { tree: '/@tree@', out: '/@out@' };

const FOLDER = join(import.meta.dirname, 'dumps');

export const dumpFile = (version: number): string =>
  join(FOLDER, `schema-${String(version).padStart(2, '0')}.json`);

/** One a version, oldest first. */
export async function readDumps(): Promise<SchemaDump[]> {
  const names = (await readdir(FOLDER)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(FOLDER, name), 'utf8')));
  return texts.map((text) => JSON.parse(text) as SchemaDump);
}

/** Makes the database that the last of the dumps describes, with its tree and output at the given places. */
export async function loadDump(url: string, dumps: readonly SchemaDump[], places: Places): Promise<void> {
  await withEmpty(url, async (manager) => {
    await applySteps(manager, dumps);
    for (const [table, rows] of Object.entries(dumps.at(-1)?.rows ?? {}))
      for (const row of rows) await insert(manager, table, moveRow(row, PLACES, places));
    if (!url.startsWith('sqlite:')) for (const table of NUMBERED) await execute(manager, goOnAfter(table));
  });
}

/** The tables whose rows are numbered by PostgreSQL; SQLite goes on after the highest by itself. */
const NUMBERED = ['roots', 'scans', 'folders', 'files'];
const goOnAfter = (table: string): string =>
  `SELECT setval(pg_get_serial_sequence('${table}', 'id'), (SELECT max(id) FROM ${table}))`;

/** A transaction in a database that need not have our schema. */
export function withEmpty<T>(url: string, work: (manager: EntityManager) => Promise<T>): Promise<T> {
  return withSource(url, (source) => source.transaction(work));
}

/** A connection that knows nothing of our schema. */
export async function withSource<T>(url: string, work: (source: DataSource) => Promise<T>): Promise<T> {
  const source = url.startsWith('sqlite:')
    ? new DataSource({ type: 'sqlite', database: url.slice('sqlite:'.length) })
    : new DataSource({ type: 'postgres', url });
  await source.initialize();
  try {
    return await work(source);
  } finally {
    await source.destroy();
  }
}

export async function applySteps(
  manager: EntityManager,
  steps: readonly Omit<SchemaDump, 'rows'>[],
): Promise<void> {
  const dialect = manager.connection.options.type === 'postgres' ? 'postgres' : 'sqlite';
  await execute(
    manager,
    'CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)',
  );
  for (const { version, name, statements } of steps) {
    for (const sql of statements[dialect]) await execute(manager, sql);
    await insert(manager, 'schema_migrations', { version, name, applied_at: 0 });
  }
}

async function insert(manager: EntityManager, table: string, row: Row): Promise<void> {
  const names = Object.keys(row).map((name) => `"${name}"`);
  const holes = names.map((_, index) => `$${index + 1}`);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${holes.join(', ')})`;
  await execute(manager, sql, Object.values(row));
}

/** The row as it would be for a tree that is elsewhere: paths are absolute, and the key of a folder is a hash of its path. */
export function moveRow(row: Row, from: Places, to: Places): Row {
  const moved = Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replaceAll(from.tree, to.tree).replaceAll(from.out, to.out) : value,
    ]),
  );
  return 'path_key' in moved ? { ...moved, path_key: pathKey(String(moved.path)) } : moved;
}
