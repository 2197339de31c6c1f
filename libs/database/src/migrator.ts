import type { EntityManager } from 'typeorm';
import { schemaTooNew, schemaTooOld } from './database.errors.js';
import { MIGRATIONS } from './migrations/index.js';
import { SCHEMA_TYPES, type Migration } from './migrations/migration.js';
import { dialectOf, execute, queryOne, queryRows } from './query.js';

// Any constant will do, as long as nothing else in the database locks it.
const MIGRATION_LOCK = 7_233_001;
const MIGRATION_LOCK_WAIT = '120s';

/** The version of the schema; 0 when there is none yet. Writes nothing, so it needs no right to. */
export async function schemaVersion(manager: EntityManager): Promise<number> {
  if (!(await hasVersionTable(manager))) return 0;
  const { version } = await queryOne<{ version: number | null }>(
    manager,
    'SELECT max(version) AS version FROM schema_migrations',
  );
  return version ?? 0;
}

/** Whether migrations are missing. Refuses a schema that is newer than this build. */
export function isBehind(found: number, migrations: readonly Migration[] = MIGRATIONS): boolean {
  const known = migrations.length;
  if (found > known) throw schemaTooNew(found, known);
  return found < known;
}

export function requireCurrent(found: number): void {
  if (isBehind(found)) throw schemaTooOld(found, MIGRATIONS.length);
}

/**
 * Applies what is missing, in the given transaction. A fleet that starts at once migrates once: SQLite's transaction is
 * IMMEDIATE and so exclusive; on PostgreSQL an advisory lock is held until the end of it. Returns the versions applied.
 */
export async function migrate(
  tx: EntityManager,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<number[]> {
  await lock(tx);
  await makeSchema(tx);
  const found = await schemaVersion(tx);
  if (!isBehind(found, migrations)) return [];
  await execute(
    tx,
    `CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`,
  );
  const missing = migrations.slice(found);
  for (const migration of missing) await apply(tx, migration);
  return missing.map(({ version }) => version);
}

async function apply(tx: EntityManager, migration: Migration): Promise<void> {
  for (const statement of migration.statements(SCHEMA_TYPES[dialectOf(tx)])) await execute(tx, statement);
  await execute(tx, 'INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)', [
    migration.version,
    migration.name,
    Date.now(),
  ]);
}

async function lock(tx: EntityManager): Promise<void> {
  if (dialectOf(tx) === 'sqlite') return;
  await tx.query(`SET LOCAL lock_timeout = '${MIGRATION_LOCK_WAIT}'`);
  await tx.query(`SET LOCAL statement_timeout = 0`);
  await tx.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
}

/** The schema that the address names: unlike a database, one that is missing is made. */
async function makeSchema(tx: EntityManager): Promise<void> {
  if (dialectOf(tx) === 'sqlite') return;
  const { path, missing } = await queryOne<{ path: string; missing: boolean }>(
    tx,
    "SELECT current_setting('search_path') AS path, current_schema() IS NULL AS missing",
  );
  if (missing && /^\w+$/.test(path)) await execute(tx, `CREATE SCHEMA IF NOT EXISTS ${path}`);
}

async function hasVersionTable(manager: EntityManager): Promise<boolean> {
  const sql =
    dialectOf(manager) === 'sqlite'
      ? "SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'"
      : "SELECT 1 AS found WHERE to_regclass('schema_migrations') IS NOT NULL";
  return (await queryRows(manager, sql)).length > 0;
}
