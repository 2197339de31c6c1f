import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execute, type Database } from '#database';
import { DATABASE_KINDS, tempFolder, testDatabase, type TempFolder, type TestDatabase } from '#testing';
import { openDatabase } from '../../database/src/database.fixture.js';
import { outputChecks } from './output.js';

const idOf = (n: number): string => `00000000-0000-7000-8000-00000000000${n}`;

describe.each(DATABASE_KINDS)('the look at the output, on %s', (kind) => {
  let store: TestDatabase;
  let database: Database;
  let folder: TempFolder;
  const fileOf = (n: number): string => join(folder.path, `batch-${idOf(n)}.md`);
  beforeAll(async () => {
    store = await testDatabase(kind);
    database = await openDatabase(store.url);
    folder = await tempFolder('output');
    // Of a file of three parts two were delivered before it changed; the last shares a batch with a file that is whole.
    const parts = [
      [1, 1, 1, 'delivered'],
      [1, 2, 2, 'stale'],
      [1, 3, 3, 'delivered'],
      [2, 1, 3, 'delivered'],
    ] as const;
    await database.inTransaction(async (tx) => {
      await execute(tx, "INSERT INTO roots (id, path, path_key, created_at) VALUES (1, '/r', '/r', 0)");
      await execute(
        tx,
        `INSERT INTO folders (id, root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id)
         VALUES (1, 1, '/r', '/r', 0, 0, 0, 1)`,
      );
      for (const id of [1, 2])
        await execute(
          tx,
          `INSERT INTO files (id, root_id, folder_id, name, path, size, mtime_ns, ctime_ns, inode, status,
             first_scanned_at, last_scanned_at, last_scan_id)
           VALUES ($1, 1, 1, $2, $2, 8, '1', '1', '1', 'batched', 0, 0, 1)`,
          [id, `f${id}`],
        );
      for (const n of [1, 2, 3]) {
        const sha256 = createHash('sha256').update('x').digest('hex');
        const answer = n === 2 ? null : JSON.stringify({ target: fileOf(n), sha256 });
        await execute(
          tx,
          `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at, completed_at, answer)
           VALUES ($1, 1, 1, 1, 'test', 1, 1, $2)`,
          [idOf(n), answer],
        );
      }
      for (const [file, part, batch, outcome] of parts)
        await execute(
          tx,
          `INSERT INTO analyses (file_id, revision, part, batch_id, outcome, analyzed_at) VALUES ($1, 1, $2, $3, $4, 1)`,
          [file, part, idOf(batch), outcome],
        );
    });
  });
  afterAll(async () => {
    await database.stop();
    await store.remove();
    await folder.remove();
  });

  it('misses no batch of which nothing is valid any more, and calls none a stray that is yet to be removed', async () => {
    for (const n of [1, 3]) await writeFile(fileOf(n), 'x');
    const failed = async (): Promise<string[]> =>
      (await outputChecks(database, folder.path, 5))
        .filter(({ violations }) => violations > 0)
        .map(({ name }) => name);
    expect(await failed()).toEqual([]);
    await rm(fileOf(1));
    expect(await failed()).toEqual([]);
    await rm(fileOf(3));
    expect(await failed()).toEqual(['output-as-sent']);
    await writeFile(fileOf(3), 'x');
    await writeFile(fileOf(4), 'x');
    expect(await failed()).toEqual(['no-stray-batch']);
  });
});
