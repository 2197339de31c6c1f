// Keeps what a database of the newest schema version holds, for the tests of later versions:
//   npm run build && node --import ./scripts/typescript.mjs test/upgrades/make-dump.ts
// Run it when a migration is added. A dump that exists is history and stays as it is. Versions given as arguments are made with
// the migrations up to each and the columns that it had. With `--cli <dist/apps/cli/src/main.js of a release>` the run is that
// release's own, for the version that it has.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { execute, queryRows, type Database, type EntityManager } from '#database';
import { nodeArguments, spawnProgram, tempFolder } from '#testing';
import { openDatabase } from '../../libs/database/src/database.fixture.js';
import { MIGRATIONS } from '../../libs/database/src/migrations/index.js';
import { SCHEMA_TYPES, type Migration } from '../../libs/database/src/migrations/migration.js';
import {
  applySteps,
  dumpFile,
  moveRow,
  PLACES,
  withEmpty,
  type Row,
  type SchemaDump,
} from './schema-dump.js';
import { BUDGET, contentOf, FILES } from './tree.js';

/** In an order that foreign keys allow. What is not here was empty after a run. */
const SCANNED = ['roots', 'scans', 'folders', 'files'];
const SENT = ['batches', 'batch_items', 'token_counts', 'analyses', 'outbox', 'inbox', 'fences'];
const OTHERS = ['audit_log', 'api_keys', 'pipeline'];

/** A file that nobody has read yet. */
const UNSENT = {
  status: 'pending',
  hash_value: null,
  hash_algorithm: null,
  token_count: null,
  tokenizer: null,
};

const { values, positionals } = parseArgs({ options: { cli: { type: 'string' } }, allowPositionals: true });
const folder = await tempFolder('schema-dump');
const places = { tree: join(folder.path, 'tree'), out: join(folder.path, 'out') };
const data = join(folder.path, 'data');
try {
  await runOnce();
  const database = await openDatabase(`sqlite:${join(data, 'millrace.db')}`);
  await interrupt(database);
  for (const version of wantedVersions()) await keep(database, version);
  await database.stop();
} finally {
  await folder.remove();
}

function wantedVersions(): number[] {
  const given = positionals.map(Number);
  return (given.length > 0 ? given : [MIGRATIONS.length]).filter((version) => !existsSync(dumpFile(version)));
}

/** A run to its end, and a key, whose making is an entry of the audit log. */
async function runOnce(): Promise<void> {
  await mkdir(places.tree);
  for (const name of FILES) await writeFile(join(places.tree, name), contentOf(name));
  const commands = [
    ['run', places.tree, '--out', places.out, '--max-tokens', BUDGET],
    ['keys', 'create', '--role', 'admin', '--name', 'from before'],
  ];
  const cli = values.cli === undefined ? nodeArguments('apps/cli/src/main') : [values.cli];
  for (const args of commands) {
    const child = spawnProgram(process.execPath, [...cli, '--data', data, ...args]);
    const { code } = await child.exited;
    if (code !== 0) throw new Error(`${args[0]} ended with ${code}\n${child.stdout}\n${child.stderr}`);
  }
}

/** As if the run had been cut off: its last batch not yet made, the one before it published and not yet delivered. */
async function interrupt(database: Database): Promise<void> {
  await database.inTransaction(async (tx) => {
    const batches = await queryRows<{ id: string }>(tx, 'SELECT id FROM batches ORDER BY created_at, id');
    const [published, last] = batches.slice(-2).map(({ id }) => id);
    for (const id of [published, last]) await undeliver(tx, String(id));
    await unbatch(tx, String(last));
  });
}

async function undeliver(tx: EntityManager, batch: string): Promise<void> {
  await execute(tx, 'DELETE FROM analyses WHERE batch_id = $1', [batch]);
  await execute(tx, 'DELETE FROM inbox WHERE event_id = $1', [batch]);
  await execute(tx, 'DELETE FROM outbox WHERE id <> $1 AND payload LIKE $2', [batch, `%${batch}%`]);
  await execute(tx, 'UPDATE outbox SET confirmed_at = NULL WHERE id = $1', [batch]);
  await execute(tx, 'UPDATE batches SET completed_at = NULL, answer = NULL WHERE id = $1', [batch]);
  await execute(
    tx,
    "UPDATE files SET status = 'batched' WHERE id IN (SELECT file_id FROM batch_items WHERE batch_id = $1)",
    [batch],
  );
}

async function unbatch(tx: EntityManager, batch: string): Promise<void> {
  const unsent = Object.entries(UNSENT).map(
    ([name, value]) => `${name} = ${value === null ? 'NULL' : `'${value}'`}`,
  );
  await execute(
    tx,
    `UPDATE files SET ${unsent.join(', ')}, sent_revision = NULL, sent_hash = NULL
     WHERE id IN (SELECT file_id FROM batch_items WHERE batch_id = $1)`,
    [batch],
  );
  await execute(tx, 'DELETE FROM batch_items WHERE batch_id = $1', [batch]);
  await execute(tx, 'DELETE FROM batches WHERE id = $1', [batch]);
  await execute(tx, 'DELETE FROM outbox WHERE id = $1', [batch]);
}

async function keep(database: Database, version: number): Promise<void> {
  const steps = MIGRATIONS.slice(0, version).map(stepOf);
  const step = steps.at(-1);
  const rows: SchemaDump['rows'] = {};
  for (const [table, columns] of await columnsAt(steps)) {
    const list = columns.map((name) => `"${name}"`).join(', ');
    const all = await database.read((manager) => queryRows<Row>(manager, `SELECT ${list} FROM ${table}`));
    if (all.length > 0) rows[table] = all.map((row) => moveRow(asOf(version, table, row), places, PLACES));
  }
  await mkdir(dirname(dumpFile(version)), { recursive: true });
  await writeFile(dumpFile(version), `${JSON.stringify({ ...step, rows })}\n`);
}

function stepOf(migration: Migration): Omit<SchemaDump, 'rows'> {
  const { version, name } = migration;
  const [sqlite, postgres] = [SCHEMA_TYPES.sqlite, SCHEMA_TYPES.postgres].map((types) =>
    migration.statements(types),
  );
  return { version, name, statements: { sqlite: sqlite ?? [], postgres: postgres ?? [] } };
}

/** The tables that the version had, with their columns. Before version 3 nothing could be sent. */
function columnsAt(
  steps: readonly Omit<SchemaDump, 'rows'>[],
): Promise<[table: string, columns: string[]][]> {
  return withEmpty(`sqlite:${join(folder.path, `schema-${steps.length}.db`)}`, async (manager) => {
    await applySteps(manager, steps);
    const found: [string, string[]][] = [];
    for (const table of [...SCANNED, ...(steps.length < 3 ? [] : SENT), ...OTHERS]) {
      const columns = await queryRows<{ name: string }>(manager, `PRAGMA table_info(${table})`);
      if (columns.length > 0) found.push([table, columns.map(({ name }) => name)]);
    }
    return found;
  });
}

/** What older versions wrote otherwise. */
function asOf(version: number, table: string, row: Row): Row {
  if (table !== 'files') return row;
  const inode = version < 10 ? `65024:${row.inode}` : row.inode;
  if (version >= 3) return { ...row, inode: inode ?? null };
  return { ...row, ...UNSENT, inode: inode ?? null };
}
