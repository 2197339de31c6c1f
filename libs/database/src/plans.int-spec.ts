import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, testDatabase, type DatabaseKind, type TestDatabase } from '#testing';
import { claimSql, EXPIRED, PENDING } from './file-claims.repository.js';
import { openDatabase } from './database.fixture.js';
import type { Database } from './database.service.js';
import { spell } from './query.js';
import { hashIsOneOf } from './conditions.js';
import { queryRows } from './query.js';

type Query = [name: string, index: RegExp, sql: (kind: DatabaseKind) => string];

/** The hot paths of all apps and the index that serves each. PostgreSQL calls keys <table>_<columns>_key, SQLite autoindex. */
const HOT: Query[] = [
  ['claim of pending files', /files_pending/, (kind) => literal(claimSql(PENDING, kind))],
  ['claim of expired files', /files_processing/, (kind) => literal(claimSql(EXPIRED, kind))],
  [
    'lookup of a file by folder and name',
    /files_folder_id_name_key|autoindex_files/,
    () => "SELECT id, revision FROM files WHERE folder_id = 1 AND name = 'x'",
  ],
  [
    'lookup of a folder by path',
    /folders_path_key_key|autoindex_folders/,
    () => "SELECT id FROM folders WHERE path_key = 'x'",
  ],
  [
    'marking of files that a scan did not see in the folders it listed',
    /files_folder_id_name_key|autoindex_files/,
    () => `UPDATE files SET removed = 1 WHERE removed = 0 AND last_scan_id <> 7 AND folder_id IN
      (SELECT id FROM folders WHERE root_id = 1 AND last_scan_id = 7 AND error_status IS NULL)`,
  ],
  [
    'folders of a root that a scan has seen',
    /folders_by_scan/,
    () => 'SELECT id FROM folders WHERE root_id = 1 AND last_scan_id = 7',
  ],
  [
    "a scan's frontier",
    /folders_unlisted/,
    () => `SELECT id FROM folders WHERE last_scan_id = 7 AND listed_scan_id <> last_scan_id
      ORDER BY last_scan_id, depth, id LIMIT 100`,
  ],
  [
    'claim of outbox events',
    /outbox_pending/,
    () => `SELECT id FROM outbox WHERE status = 'PENDING' AND available_at <= 5 AND claimed_until < 5
      ORDER BY created_at, id LIMIT 100`,
  ],
  [
    'first pending event of an ordering key',
    /outbox_pending_by_key/,
    () => `SELECT id FROM outbox WHERE status = 'PENDING' AND ordering_key IS NOT NULL AND ordering_key = 'k'
      ORDER BY created_at, id LIMIT 1`,
  ],
  [
    'events nobody has confirmed',
    /outbox_unconfirmed/,
    () => `SELECT id FROM outbox WHERE status = 'PUBLISHED' AND confirmed_at IS NULL AND published_at < 5
      ORDER BY published_at, id LIMIT 100`,
  ],
  [
    'purge of events done with',
    /outbox_done/,
    () => `SELECT id FROM outbox WHERE status = 'PUBLISHED' AND confirmed_at IS NOT NULL AND published_at < 5
      ORDER BY published_at, id LIMIT 100`,
  ],
  ['items of a batch', /batch_items_by_batch/, () => "SELECT * FROM batch_items WHERE batch_id = 'b'"],
  [
    'files of the same content',
    /files_by_hash/,
    () => `SELECT id FROM files WHERE ${hashIsOneOf('hash_value', ["'g'", "'h'"])}`,
  ],
  [
    'list of open dead letters',
    /dead_letters_by_status/,
    () =>
      `SELECT id FROM dead_letters WHERE status = 'open' ORDER BY dead_lettered_at DESC, id DESC LIMIT 50`,
  ],
  [
    'list of a group of dead letters',
    /dead_letters_by_group/,
    () =>
      `SELECT id FROM dead_letters WHERE fingerprint = 'f' ORDER BY dead_lettered_at DESC, id DESC LIMIT 50`,
  ],
  [
    'next items of a bulk action',
    /bulk_action_items_(waiting|pkey)|PRIMARY KEY/,
    () =>
      `SELECT letter_id FROM bulk_action_items WHERE action_id = 'a' AND state = 'waiting' ORDER BY position LIMIT 100`,
  ],
];

describe.each(DATABASE_KINDS)('no table scan on %s for the', (kind) => {
  let target: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
  });
  afterAll(async () => {
    await database.stop();
    await target.remove();
  });

  it.each(HOT)('%s', async (_, index, sql) => {
    const plan = await explain(database, sql(kind));
    expect(plan).toMatch(index);
    expect(plan).not.toMatch(
      /Seq Scan|SCAN (files|folders|outbox|dead_letters|batch_items|bulk_action_items)\b(?! USING)/,
    );
    // Sorting would mean that the index does not give the order; a claim would then read every candidate.
    if (/ORDER BY/.test(sql(kind))) expect(plan).not.toMatch(/TEMP B-TREE|Sort Key/);
  });

  it('check itself: a query without an index is seen as a scan', async () => {
    const plan = await explain(database, "SELECT id FROM files WHERE error_status = 'x'");
    expect(plan).toMatch(/Seq Scan|SCAN files\b(?! USING)/);
  });
});

/** Parameters as values, since a plan is asked without any. */
function literal(sql: string): string {
  return sql.replaceAll('$1', "'w'").replaceAll(/\$\d/g, '10');
}

async function explain(database: Database, sql: string): Promise<string> {
  return database.inTransaction(async (tx) => {
    if (database.dialect === 'sqlite') {
      const rows = await queryRows<{ detail: string }>(tx, `EXPLAIN QUERY PLAN ${spell('sqlite', sql)}`);
      return rows.map(({ detail }) => detail).join('\n');
    }
    // Tables are empty here; this makes the planner scan only where no index can serve.
    await tx.query('SET LOCAL enable_seqscan = off');
    await tx.query('SET LOCAL enable_bitmapscan = off');
    const rows = await queryRows<{ 'QUERY PLAN': string }>(tx, `EXPLAIN ${sql}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
}
