import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { openDatabase, registerFiles } from './database.fixture.js';
import type { Database } from './database.service.js';
import { Duplicates } from './duplicates.repository.js';
import { execute } from './query.js';

describe.each(DATABASE_KINDS)('duplicates on %s', (kind) => {
  let target: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
    await registerFiles(database, 12);
    await put(
      "UPDATE files SET hash_algorithm = 'sha256', hash_value = 'h' || (id % 3), size = 100 * (id % 3)",
    );
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  const put = (sql: string): Promise<number> => database.inTransaction((tx) => execute(tx, sql));

  it('are totalled beyond the page, without empty or removed files', async () => {
    await put("UPDATE files SET removed = 1 WHERE name = 'file-0'");
    await put("UPDATE files SET hash_value = NULL WHERE name = 'file-11'");
    const duplicates = new Duplicates(database);
    const totals = await duplicates.totals();
    const groups = await duplicates.groups();
    expect(groups.map(({ size }) => size)).toEqual([200, 100]);
    expect(totals).toEqual({
      groups: 2,
      waste: groups.reduce((sum, { waste }) => sum + waste, 0),
      files: 11,
      hashed: 10,
    });
    expect(await duplicates.totals({ minSize: 101 })).toMatchObject({ groups: 1 });
    expect((await duplicates.groups({ minSize: 101 })).map(({ paths }) => paths.length)).toEqual([
      groups[0]?.copies,
    ]);
  });

  it('leave out hard links, which take no space', async () => {
    await put("UPDATE files SET inode = '1:7' WHERE size = 200");
    expect((await new Duplicates(database).groups()).map(({ size }) => size)).toEqual([100]);
    await put("UPDATE files SET inode = '1:8' WHERE id = (SELECT max(id) FROM files WHERE size = 200)");
    expect(await new Duplicates(database).groups()).toMatchObject([
      { size: 100, copies: 4, waste: 300 },
      { size: 200, copies: 4, waste: 200 },
    ]);
    expect(await new Duplicates(database).totals()).toMatchObject({ groups: 2, waste: 500 });
  });
});
