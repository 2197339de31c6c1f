import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import sqlite3 from 'sqlite3';
import { PreparedStatements, type SqliteConnection } from './prepared-statements.js';

describe('PreparedStatements', () => {
  let connection: SqliteConnection;

  beforeEach(async () => {
    const opened = await new Promise<sqlite3.Database>((resolve, reject) => {
      const database = new sqlite3.Database(':memory:', (error) =>
        error ? reject(error) : resolve(database),
      );
    });
    connection = opened;
    connection.serialize();
    new PreparedStatements(connection);
    await run('CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT)');
  });
  afterEach(() => closed().catch(() => {}));

  const closed = (): Promise<void> =>
    new Promise((resolve, reject) => connection.close((error) => (error ? reject(error) : resolve())));
  const all = (sql: string, params: unknown[] = []): Promise<unknown[]> =>
    new Promise((resolve, reject) =>
      connection.all(sql, params, (error, rows) =>
        error instanceof Error ? reject(error) : resolve(rows as unknown[]),
      ),
    );
  const run = (sql: string, params: unknown[] = []): Promise<number> =>
    new Promise((resolve, reject) =>
      connection.run(sql, params, function (error) {
        if (error instanceof Error) reject(error);
        else resolve((this as { changes: number }).changes);
      }),
    );

  it('gives each run the rows and changes of its own parameters', async () => {
    const insert = 'INSERT INTO t (n) SELECT value FROM json_each(?1)';
    expect(await run(insert, ['[1,2]'])).toBe(2);
    expect(await run(insert, ['[3]'])).toBe(1);
    const select = 'SELECT n FROM t WHERE n >= ?1 ORDER BY n';
    expect(await Promise.all([all(select, [2]), all(select, [3]), all(select, [4])])).toEqual([
      [{ n: 2 }, { n: 3 }],
      [{ n: 3 }],
      [],
    ]);
  });

  it('tells every caller that a statement cannot be prepared, and runs it once it can', async () => {
    const select = 'SELECT x FROM later';
    const outcomes = await Promise.allSettled([all(select), all(select), run('nonsense')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await run('CREATE TABLE later (x)');
    expect(await all(select)).toEqual([]);
  });

  it('goes on after a run that failed', async () => {
    const insert = 'INSERT INTO t (n) VALUES (?1)';
    await run(insert, [1]);
    await expect(run(insert, [1])).rejects.toThrow('UNIQUE');
    expect(await run(insert, [2])).toBe(1);
  });

  it('sees a table that was changed since it was prepared', async () => {
    await run('INSERT INTO t (n) VALUES (1)');
    const select = 'SELECT * FROM t';
    await all(select);
    await run('ALTER TABLE t ADD COLUMN more TEXT');
    expect(await all(select)).toEqual([{ n: 1, word: null, more: null }]);
  });

  it('leaves nothing open that a run returned but nobody read', async () => {
    await run('INSERT INTO t (n) VALUES (1), (2) RETURNING n');
    await run('SELECT n FROM t');
    await run('DROP TABLE t');
  });

  it('keeps some of many statements, and closes with all of them', async () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 200; n++) expect(await all(`SELECT ${n} AS n`)).toEqual([{ n }]);
    await Promise.all([closed(), expect(all('SELECT 1')).rejects.toThrow()]);
  });

  it('closes while statements are on their way', async () => {
    const running = [all('SELECT 1 AS n'), all('SELECT 2 AS n')];
    await closed();
    expect(await Promise.all(running)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  });
});
