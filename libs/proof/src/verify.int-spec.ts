import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execute, type Database } from '#database';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { openDatabase, unguardAudit } from '../../database/src/database.fixture.js';
import { EXCEPTIONS } from './checks.js';
import { verify, type Proof } from './verify.js';

const TABLES = [
  ...['audit_log', 'dead_letters', 'inbox', 'outbox', 'analyses', 'batch_items', 'batches'],
  ...['files', 'folders', 'scans', 'roots'],
];

/** A tree of two files (one in two parts), delivered in two batches, all settled. */
const SETTLED = [
  `INSERT INTO roots (id, path, path_key, rules, created_at) VALUES (1, '/r', '/r', '{"exclude":["*.map"]}', 1)`,
  `INSERT INTO scans (id, root_id, worker_id, fence, outcome, started_at, finished_at, counters)
   VALUES (1, 1, 'p', 1, 'completed', 1, 2, '{"leftOut":{"hidden":3}}')`,
  `INSERT INTO folders (id, root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id, listed_scan_id)
   VALUES (1, 1, '/r', '/r', 0, 1, 1, 1, 1)`,
  ...[1, 2].map(
    (
      id,
    ) => `INSERT INTO files (id, root_id, folder_id, name, path, size, mtime_ns, ctime_ns, inode, status, hash_value,
      hash_algorithm, token_count, first_scanned_at, last_scanned_at, last_scan_id)
     VALUES (${id}, 1, 1, 'f${id}', '/r/f${id}', 10, '1', '1', '1', 'analyzed', 'h${id}', 'sha256', 4, 1, 1, 1)`,
  ),
  ...['b1', 'b2'].map(
    (
      id,
    ) => `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at, completed_at)
     VALUES ('${id}', 5, 10, ${id === 'b1' ? 2 : 1}, 'w', 1, 2)`,
  ),
  ...(
    [
      [1, 1, 1, 'b1', 0, 10],
      [2, 1, 2, 'b1', 0, 6],
      [2, 2, 2, 'b2', 6, 10],
    ] as const
  ).flatMap(([file, part, parts, batch, start, end]) => [
    `INSERT INTO batch_items (file_id, revision, part, parts, batch_id, byte_start, byte_end, tokens, content_hash)
     VALUES (${file}, 1, ${part}, ${parts}, '${batch}', ${start}, ${end}, 2, 'h${file}')`,
    `INSERT INTO analyses (file_id, revision, part, batch_id, outcome, analyzed_at)
     VALUES (${file}, 1, ${part}, '${batch}', 'delivered', 2)`,
  ]),
];

/** What is told in the tables and not so, and the check that names it. */
const LIES: readonly [lie: string, named: string, ...statements: string[]][] = [
  ['a path outside of the folder', 'in-its-folder', `UPDATE files SET path = '/etc/f1' WHERE id = 1`],
  ['a path below a subfolder', 'in-its-folder', `UPDATE files SET path = '/r/sub/f1' WHERE id = 1`],
  ['another hash than was sent', 'sent-as-recorded', `UPDATE files SET hash_value = 'other' WHERE id = 1`],
  ['a skip without a reason', 'skipped-with-reason', `UPDATE files SET status = 'skipped' WHERE id = 1`],
  ['a failure that nobody was told', 'failed-with-letter', `UPDATE files SET status = 'failed' WHERE id = 1`],
  [
    'a delivered file without a batch',
    'batched-in-a-batch',
    'DELETE FROM analyses WHERE file_id = 1',
    'DELETE FROM batch_items WHERE file_id = 1',
  ],
  ['a part that is missing', 'all-parts', 'DELETE FROM batch_items WHERE file_id = 2 AND part = 2'],
  ['parts that overlap', 'all-parts', 'UPDATE batch_items SET byte_start = 4 WHERE file_id = 2 AND part = 2'],
  [
    'parts of different counts',
    'all-parts',
    'UPDATE batch_items SET parts = 3 WHERE file_id = 2 AND part = 2',
  ],
  ['a batch with an item too few', 'whole-batches', `UPDATE batches SET item_count = 3 WHERE id = 'b1'`],
  [
    'a batch without items',
    'whole-batches',
    `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at, completed_at) VALUES ('b3', 1, 2, 0, 'w', 1, 2)`,
  ],
  [
    'items of more tokens than their batch',
    'whole-batches',
    'UPDATE batch_items SET tokens = 9 WHERE file_id = 1',
  ],
  ['an open batch without an event', 'one-event', `UPDATE batches SET completed_at = NULL WHERE id = 'b2'`],
  ['a delivery without its effects', 'one-effect', `DELETE FROM analyses WHERE batch_id = 'b2'`],
  [
    'an effect without a delivery',
    'no-effect-without-delivery',
    `UPDATE batches SET completed_at = NULL WHERE id = 'b1'`,
  ],
  [
    'an analysed file with a part undelivered',
    'analysed-is-delivered',
    `UPDATE batches SET completed_at = NULL WHERE id = 'b2'`,
  ],
  [
    'a delivered file that still waits',
    'delivered-is-analysed',
    `UPDATE files SET status = 'batched' WHERE id = 1`,
  ],
  [
    'a stale delivery counted as analysed',
    'stale-is-queued-again',
    `UPDATE analyses SET outcome = 'stale' WHERE file_id = 1`,
  ],
  [
    'an audit row put in by hand',
    'audit-chain',
    `INSERT INTO audit_log (id, at, actor, action, result, previous_hash, hash) VALUES (1, 1, 'x', 'x', 'ok', '0', 'x')`,
  ],
];

const EXCEPTED: readonly [case_: string, name: string, ...statements: string[]][] = [
  [
    'a failed file with a dead letter',
    'failed',
    `UPDATE files SET status = 'failed', error_status = 'analyser said 400' WHERE id = 1`,
    `INSERT INTO outbox (id, queue, event_name, payload, status, created_at, available_at) VALUES ('b1', 'q', 'e', '{}', 'DEAD', 1, 1)`,
    `UPDATE batches SET completed_at = NULL WHERE id = 'b1'`,
    `DELETE FROM analyses WHERE batch_id = 'b1'`,
    `UPDATE files SET status = 'failed' WHERE id = 2`,
  ],
  [
    'a file that could not be read',
    'not-readable',
    `UPDATE files SET status = 'skipped', skip_reason = 'unreadable', error_status = 'EACCES' WHERE id = 1`,
  ],
  [
    'a file that was away',
    'not-readable',
    `UPDATE files SET status = 'skipped', skip_reason = 'vanished' WHERE id = 1`,
  ],
  [
    'a folder that could not be listed',
    'folder-not-listed',
    `UPDATE folders SET error_status = 'EACCES' WHERE id = 1`,
  ],
  [
    'a scan that was refused',
    'scan-not-completed',
    `UPDATE scans SET outcome = 'refused', error = 'most is gone' WHERE id = 1`,
  ],
  ['a scan that failed', 'scan-not-completed', `UPDATE scans SET outcome = 'failed' WHERE id = 1`],
];

const ON_ITS_WAY: readonly [case_: string, statement: string][] = [
  ['a pending file', `UPDATE files SET status = 'pending' WHERE id = 1`],
  ['a scan that was cut off', `UPDATE scans SET outcome = 'interrupted' WHERE id = 1`],
  [
    'an event to publish',
    `INSERT INTO outbox (id, queue, event_name, payload, created_at, available_at) VALUES ('e', 'q', 'e', '{}', 1, 1)`,
  ],
];

describe.each(DATABASE_KINDS)('verify on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  const write = (statements: readonly string[]): Promise<void> =>
    database.inTransaction(async (tx) => {
      for (const statement of statements) await execute(tx, statement);
    });
  const verdictAfter = async (...statements: string[]): Promise<Proof> => {
    await write(statements);
    return verify(database);
  };

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = await openDatabase(place.url);
    await unguardAudit(database);
  });

  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  beforeEach(() => write([...TABLES.map((table) => `DELETE FROM ${table}`), ...SETTLED]));

  it('proves a settled pipeline, and says which trees and rules it speaks of', async () => {
    const proof = await verify(database);
    expect(proof).toMatchObject({ verdict: 'proven', files: 2, inFlight: 0, exceptions: [] });
    expect(proof.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(proof.scopes).toEqual([
      {
        root: '/r',
        scannedAt: new Date(2).toISOString(),
        rules: { exclude: ['*.map'] },
        leftOut: { hidden: 3 },
      },
    ]);
  });

  it.each(LIES)('names %s', async (_, named, ...statements) => {
    const proof = await verdictAfter(...statements);
    expect(proof.verdict).toBe('violated');
    expect(proof.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toContain(named);
  });

  it.each(EXCEPTED)('excepts %s, with its cause and cure', async (_, name, ...statements) => {
    const proof = await verdictAfter(...statements);
    expect({ verdict: proof.verdict, broken: proof.checks.filter(({ ok }) => !ok) }).toEqual({
      verdict: 'proven except',
      broken: [],
    });
    const { cause, cure } = EXCEPTIONS.find((kind) => kind.name === name) ?? {};
    expect(proof.exceptions).toEqual([expect.objectContaining({ name, cause, cure })]);
    expect(proof.exceptions[0]?.rows[0]?.path).toMatch(/^\/r/);
  });

  it.each(ON_ITS_WAY)('calls %s in flight, also beside an exception', async (_, statement) => {
    const folder = `UPDATE folders SET error_status = 'EACCES' WHERE id = 1`;
    expect((await verdictAfter(statement)).verdict).toBe('in flight');
    expect((await verdictAfter(folder)).verdict).toBe('in flight');
  });

  it('counts all and shows as many rows as were asked for', async () => {
    const proof = await (async () => {
      await write([`UPDATE files SET status = 'skipped', skip_reason = 'unreadable'`]);
      return verify(database, { rows: 1 });
    })();
    expect(proof.exceptions).toEqual([expect.objectContaining({ count: 2, rows: [expect.anything()] })]);
  });

  it('changes its digest with the state of a file and not with the time', async () => {
    const [first, again] = [await verify(database), await verify(database)];
    expect(again.digest).toBe(first.digest);
    expect((await verdictAfter(`UPDATE files SET hash_value = 'other' WHERE id = 1`)).digest).not.toBe(
      first.digest,
    );
  });
});
