import { Metrics, silentLogger } from '#service';
import { bulkInsert } from './bulk.js';
import { Database } from './database.service.js';
import { execute, queryOne, queryRows } from './query.js';
import type { DatabaseOptions } from './store.js';

/** A started database for tests and test programs. */
export async function openDatabase(url: string, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = createDatabase(url, options);
  await database.start();
  return database;
}

export function createDatabase(url: string, options: Partial<DatabaseOptions> = {}): Database {
  return new Database({ url, logger: silentLogger, metrics: new Metrics(), ...options });
}

const FILE_COLUMNS = {
  root_id: 'int',
  folder_id: 'int',
  name: 'text',
  path: 'text',
  size: 'int',
  mtime_ns: 'text',
  ctime_ns: 'text',
  inode: 'text',
  first_scanned_at: 'int',
  last_scanned_at: 'int',
  last_scan_id: 'int',
} as const;

/** One root, one folder and `count` pending files named file-0, file-1, … */
export async function registerFiles(database: Database, count: number): Promise<void> {
  await database.inTransaction(async (tx) => {
    await execute(tx, "INSERT INTO roots (path, path_key, created_at) VALUES ('/r', '/r', 0)");
    const root = await queryOne<{ id: number }>(tx, 'SELECT id FROM roots');
    await execute(
      tx,
      `INSERT INTO folders (root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id)
       VALUES ($1, '/r', '/r', 0, 0, 0, 1)`,
      [root.id],
    );
    const folder = await queryOne<{ id: number }>(tx, 'SELECT id FROM folders');
    const rows = Array.from({ length: count }, (_, n) => [
      ...[root.id, folder.id, `file-${n}`, `/r/file-${n}`, n, '1700000000000000001', '1700000000000000002'],
      ...[`1:${n}`, 1, 1, 1],
    ]);
    await bulkInsert(tx, { table: 'files', columns: FILE_COLUMNS, rows });
  });
}

export function allRows<Row extends object>(
  database: Database,
  sql: string,
  params: unknown[] = [],
): Promise<Row[]> {
  return database.read((manager) => queryRows<Row>(manager, sql, params));
}

/** Takes away what keeps the audit log from being changed, as somebody with the rights of the owner would. */
export async function unguardAudit(database: Database): Promise<void> {
  const statements =
    database.dialect === 'sqlite'
      ? ['DROP TRIGGER audit_log_no_update', 'DROP TRIGGER audit_log_no_delete']
      : ['DROP TRIGGER audit_log_no_change ON audit_log'];
  for (const sql of statements) await database.inTransaction((tx) => tx.query(sql));
}
