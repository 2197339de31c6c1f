import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { bulkExecute, bulkInsert, bulkInsertReturning, bulkQuery, bulkSelect } from './bulk.js';
import { allRows, openDatabase } from './database.fixture.js';
import type { Database } from './database.service.js';
import { execute, queryRows } from './query.js';

const columns = { key: 'text', fence: 'int' } as const;
const many = Array.from({ length: 12_345 }, (_, n) => [`k${n}`, n] as const);

describe.each(DATABASE_KINDS)('rows in bulk on %s', (kind) => {
  let target: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  it('are inserted beyond the limits on parameters, and counted', async () => {
    const written = await database.inTransaction((tx) =>
      bulkInsert(tx, { table: 'fences', columns, rows: many }),
    );
    expect(written).toBe(12_345);
    expect(await allRows(database, 'SELECT count(*) AS n, sum(fence) AS total FROM fences')).toEqual([
      { n: 12_345, total: (12_344 * 12_345) / 2 },
    ]);
  });

  it('may be none', async () => {
    expect(await database.inTransaction((tx) => bulkInsert(tx, { table: 'fences', columns, rows: [] }))).toBe(
      0,
    );
  });

  it('update what they conflict with and return what was asked for', async () => {
    const onConflict = '(key) DO UPDATE SET fence = fences.fence + excluded.fence';
    const upsert = (rows: [string, number][]): Promise<object[]> =>
      database.inTransaction((tx) =>
        bulkInsertReturning(tx, { table: 'fences', columns, rows, onConflict }, 'key, fence'),
      );
    await upsert([['a', 1]]);
    const rows = await upsert([
      ['a', 10],
      ['b', 20],
    ]);
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(
      expect.arrayContaining([
        { key: 'a', fence: 11 },
        { key: 'b', fence: 20 },
      ]),
    );
  });

  it('keep null, large integers and any text as they are', async () => {
    const texts = [
      '',
      "'; DROP TABLE files; --",
      'a\nb\t"c"\\',
      '日本語 🎉',
      '{"a":[1]}',
      '$1 ?1',
      'NULL',
      '1e3',
      '007',
    ];
    const rows = texts.map((text, n) => ['c', text, n === 0 ? null : text, 1_763_250_000_123 + n] as const);
    await database.inTransaction((tx) =>
      bulkInsert(tx, {
        table: 'outbox',
        columns: {
          queue: 'text',
          id: 'text',
          last_error: 'text',
          created_at: 'int',
          event_name: 'text',
          payload: 'text',
          available_at: 'int',
        },
        rows: rows.map(([queue, id, error, at]) => [queue, id, error, at, 'e', '{}', at]),
      }),
    );
    const stored = await allRows<{ id: string; last_error: string | null; created_at: number }>(
      database,
      'SELECT id, last_error, created_at FROM outbox ORDER BY created_at',
    );
    expect(stored).toEqual(rows.map(([, id, last_error, created_at]) => ({ id, last_error, created_at })));
  });

  it('can be joined with a table, beside further parameters', async () => {
    await database.inTransaction((tx) => bulkInsert(tx, { table: 'fences', columns, rows: many }));
    const rows = many.map(([key]) => [key, 1_000_000]);
    const changed = await database.inTransaction((tx) =>
      bulkQuery<{ key: string }>(
        tx,
        { columns, rows, alias: 'v', extra: [12_000] },
        (source, [least]) =>
          `UPDATE fences SET fence = v.fence FROM ${source} WHERE fences.key = v.key AND fences.fence >= ${least} RETURNING fences.key`,
      ),
    );
    expect(changed).toHaveLength(345);
    expect(await allRows(database, 'SELECT count(*) AS n FROM fences WHERE fence = 1000000')).toEqual([
      { n: 345 },
    ]);
  });

  it('are counted where nothing is asked back', async () => {
    await database.inTransaction((tx) => bulkInsert(tx, { table: 'fences', columns, rows: many }));
    const rows = many.map(([key]) => [key, 1_000_000]);
    const changed = await database.inTransaction((tx) =>
      bulkExecute(
        tx,
        { columns, rows, alias: 'v', extra: [12_000] },
        (source, [least]) =>
          `UPDATE fences SET fence = v.fence FROM ${source} WHERE fences.key = v.key AND fences.fence >= ${least}`,
      ),
    );
    expect(changed).toBe(345);
    expect(await allRows(database, 'SELECT count(*) AS n FROM fences WHERE fence = 1000000')).toEqual([
      { n: 345 },
    ]);
  });

  it('are read back as they were written, or not at all', async () => {
    const rows = [
      ['a "quoted"\nname \\ü', Number.MAX_SAFE_INTEGER],
      ['z', 0],
    ];
    await database.inTransaction((tx) => bulkInsert(tx, { table: 'fences', columns, rows }));
    const read = (least: number): Promise<{ key: string; fence: number }[]> =>
      database.read((tx) => bulkSelect(tx, ['key', 'fence'], 'FROM fences WHERE fence >= $1', [least]));
    const expected = rows.map(([key, fence]) => ({ key, fence }));
    expect(await read(0)).toEqual(expect.arrayContaining(expected));
    expect(await read(1)).toEqual([expected[0]]);
    await database.inTransaction((tx) => execute(tx, 'DELETE FROM fences'));
    expect(await read(0)).toEqual([]);
  });

  it('are counted by execute and read by queryRows alike for every verb', async () => {
    await database.inTransaction(async (tx) => {
      expect(await execute(tx, 'INSERT INTO fences VALUES ($1, $2), ($3, $2)', ['a', 1, 'b'])).toBe(2);
      expect(await execute(tx, 'UPDATE fences SET fence = 2')).toBe(2);
      expect(
        await queryRows(tx, 'UPDATE fences SET fence = 3 WHERE key = $1 RETURNING key, fence', ['a']),
      ).toEqual([{ key: 'a', fence: 3 }]);
      expect(
        await queryRows(tx, 'UPDATE fences SET fence = 9 WHERE key = $1 RETURNING key', ['none']),
      ).toEqual([]);
      expect(await queryRows(tx, 'DELETE FROM fences WHERE key = $1 RETURNING key', ['b'])).toEqual([
        { key: 'b' },
      ]);
      expect(await execute(tx, 'DELETE FROM fences')).toBe(1);
    });
  });
});
