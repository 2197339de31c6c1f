import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execute, queryRows, type Database } from '#database';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { openDatabase } from '../../../../libs/database/src/database.fixture.js';
import { failureCauses, failureOnItsWay, retryUntold } from './outcome.repository.js';

const ROWS = [
  `INSERT INTO roots (id, path, path_key, rules, created_at) VALUES (1, '/r', '/r', '{}', 1)`,
  `INSERT INTO scans (id, root_id, worker_id, fence, outcome, started_at, finished_at, counters)
   VALUES (1, 1, 'p', 1, 'completed', 1, 2, '{}')`,
  `INSERT INTO folders (id, root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id, listed_scan_id)
   VALUES (1, 1, '/r', '/r', 0, 1, 1, 1, 1)`,
  ...['failed', 'failed', 'analyzed'].map(
    (
      status,
      at,
    ) => `INSERT INTO files (id, root_id, folder_id, name, path, size, mtime_ns, ctime_ns, inode, status,
      error_status, enqueued_at, first_scanned_at, last_scanned_at, last_scan_id)
     VALUES (${at + 1}, 1, 1, 'f${at}', '/r/f${at}', 10, '1', '1', '1', '${status}', 'EIO', 5, 1, 1, 1)`,
  ),
  `INSERT INTO dead_letters (queue, job_id, name, payload, redacted_paths, options, reason, error_name, error_message, stack,
     fingerprint, attempts_made, attempts, last_worker_id, enqueued_at, failed_at, dead_lettered_at, status)
   VALUES ('q', 'f-1-1', 'n', '{}', '[]', '{}', 'error', 'E', 'm', '', 'p', 1, '[]', 'w', 1, 1, 1, 'requeued')`,
];

describe.each(DATABASE_KINDS)('failures that nobody was told of, on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = await openDatabase(place.url);
  });
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });
  beforeEach(() =>
    database.inTransaction(async (tx) => {
      for (const table of ['dead_letters', 'files', 'folders', 'scans', 'roots'])
        await execute(tx, `DELETE FROM ${table}`);
      for (const row of ROWS) await execute(tx, row);
    }),
  );

  it.each([
    ['a failure without its letter', 'DELETE FROM files WHERE id = 1', true],
    ['a letter that was offered again', 'DELETE FROM files WHERE id = 2', true],
    ['a letter that is open', "UPDATE dead_letters SET status = 'open'", false],
  ])('%s: on its way?', async (_, sql, expected) => {
    await database.inTransaction(async (tx) => {
      if (!expected) await execute(tx, 'DELETE FROM files WHERE id = 2');
      await execute(tx, sql);
    });
    expect(await failureOnItsWay(database)).toBe(expected);
  });

  it('are told by cause, in the words of the newest letter, with the files of its batch', async () => {
    await database.inTransaction(async (tx) => {
      await execute(tx, 'DELETE FROM dead_letter_groups');
      await execute(
        tx,
        `INSERT INTO dead_letter_groups (fingerprint, error_name, message, frame, first_seen_at, last_seen_at, total, open, newest)
         VALUES ('p', 'E', 'status #', '', 1, 1, 1, 1, 'status 400'), ('r', 'F', 'gone', '', 1, 1, 1, 1, NULL)`,
      );
      await execute(tx, 'DELETE FROM batches');
      await execute(
        tx,
        `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at) VALUES ('b', 1, 1, 7, 'w', 1)`,
      );
      await execute(tx, "UPDATE dead_letters SET status = 'open'");
      for (const job of ['f-2-1', 'f-3-1', 'e-b'])
        await execute(
          tx,
          `INSERT INTO dead_letters (queue, job_id, name, payload, reason, error_name, error_message, stack, fingerprint,
             attempts_made, last_worker_id, enqueued_at, failed_at, dead_lettered_at)
           VALUES ('q', '${job}', 'n', '{}', 'error', 'E', 'm', '', '${job === 'e-b' ? 'r' : 'p'}', 1, 'w', 1, 1, 1)`,
        );
    });
    expect(await failureCauses(database)).toEqual([
      { cause: 'F: gone', files: 7 },
      { cause: 'E: status 400', files: 3 },
    ]);
  });

  it('are tried again; a file with a letter, open or offered again, is not', async () => {
    expect(await retryUntold(database)).toBe(1);
    const files = await database.read((manager) =>
      queryRows(manager, 'SELECT status, error_status, enqueued_at FROM files ORDER BY id'),
    );
    expect(files.map((row) => Object.values(row).map(String))).toEqual([
      ['failed', 'EIO', '5'],
      ['pending', 'null', '0'],
      ['analyzed', 'EIO', '5'],
    ]);
  });
});
