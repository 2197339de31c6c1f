import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdir, open, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '#service';
import { guardLeaks, spawnBuilt, tempFolder, type TempFolder } from '#testing';
import { allRows, createDatabase, openDatabase } from './database.fixture.js';
import { deferred } from './deferred.fixture.js';
import type { Database } from './database.service.js';
import { execute, queryRows } from './query.js';

const insert = (key: string): string => `INSERT INTO fences (key, fence) VALUES ('${key}', 1)`;

// The guard looks after the inner hooks have closed what they opened.
describe('SQLite', () => {
  guardLeaks();
  describe('as our database', sqlite);
});

function sqlite(): void {
  let folder: TempFolder;
  let path: string;
  let database: Database;
  beforeEach(async () => {
    folder = await tempFolder('sqlite');
    path = join(folder.path, 'millrace.db');
    database = createDatabase(`sqlite:${path}`);
  });
  afterEach(async () => {
    await database.stop();
    await folder.remove();
  });

  it('runs with write-ahead logging, foreign keys and normal synchronisation', async () => {
    await database.start();
    const pragma = async (name: string): Promise<unknown> => {
      const [row] = await database.inTransaction((tx) => queryRows(tx, `PRAGMA ${name}`));
      return Object.values(row ?? {})[0] as unknown;
    };
    expect(await pragma('journal_mode')).toBe('wal');
    expect(await pragma('foreign_keys')).toBe(1);
    expect(await pragma('synchronous')).toBe(1);
    expect(await pragma('busy_timeout')).toBeGreaterThan(0);
  });

  it("keeps its files to the user's own eyes, also those that were open to others", async () => {
    await writeFile(path, '', { mode: 0o644 });
    await database.start();
    await database.inTransaction((tx) => tx.query(insert('a')));
    for (const file of [path, `${path}-wal`, `${path}-shm`])
      expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('begins IMMEDIATE: while a transaction is open and has only read, nobody else can begin one', async () => {
    await database.start();
    const other = await openDatabase(`sqlite:${path}`, { busyTimeoutMs: 1 });
    const inside = deferred();
    const go = deferred();
    const reading = database.inTransaction(async (tx) => {
      await tx.query('SELECT * FROM fences');
      inside.resolve();
      await go.promise;
    });
    await inside.promise;
    await expect(other.inTransaction((tx) => tx.query('SELECT 1'))).rejects.toMatchObject({
      code: 'DATABASE_BUSY',
    });
    go.resolve();
    await reading;
    await other.stop();
  });

  it('lets transactions through in the order in which they came', async () => {
    await database.start();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        database.inTransaction(async (tx) => {
          await tx.query(`SELECT ${n}`);
          order.push(n);
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  it('refuses writes outside of a transaction', async () => {
    await database.start();
    await expect(database.read((manager) => manager.query(insert('a')))).rejects.toMatchObject({
      code: 'SQLITE_READONLY',
    });
  });

  it('waits without an error while another process holds the lock for 10 seconds', async () => {
    await database.start();
    const holder = spawnBuilt('libs/database/testing/hold-lock.process', [path, '10000']);
    await holder.output('locked');
    const writes = ['a', 'b', 'c'].map((key) => database.inTransaction((tx) => tx.query(insert(key))));
    // Readers go on meanwhile.
    expect(await allRows(database, 'SELECT * FROM fences')).toEqual([]);
    expect(holder.running).toBe(true);
    await Promise.all(writes);
    expect(await allRows(database, 'SELECT * FROM fences')).toHaveLength(3);
    await holder.exited;
  }, 60_000);

  it('keeps statements prepared: they see a schema that changed, and hold up neither a commit nor the end', async () => {
    await database.start();
    const all = (): Promise<object[]> => allRows(database, 'SELECT * FROM fences');
    expect([await all(), await all()]).toEqual([[], []]);
    await database.inTransaction(async (tx) => {
      // A write that has rows to give, of which nobody asks for the second.
      await execute(tx, "INSERT INTO fences (key, fence) VALUES ('a', 1), ('b', 2) RETURNING key");
      await execute(tx, 'ALTER TABLE fences ADD COLUMN more INTEGER');
    });
    expect(await all()).toEqual([
      { key: 'a', fence: 1, more: null },
      { key: 'b', fence: 2, more: null },
    ]);
    await database.stop();
    await database.start();
    expect(await all()).toHaveLength(2);
  });

  it('tells everybody of a statement that cannot be prepared, also when it could before', async () => {
    await database.start();
    const ask = (): Promise<object[]> => allRows(database, 'SELECT more FROM fences');
    const asked = await Promise.allSettled([ask(), ask(), allRows(database, 'SELECT key FROM fences')]);
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    await database.inTransaction((tx) => execute(tx, 'ALTER TABLE fences ADD COLUMN more INTEGER'));
    expect(await ask()).toEqual([]);
    await database.inTransaction((tx) => execute(tx, 'ALTER TABLE fences DROP COLUMN more'));
    await expect(ask()).rejects.toThrow(/no such column/);
  });

  it('says that the disk is full, keeps what was there, and goes on when there is space', async () => {
    await database.start();
    const limit = (pages: string): Promise<unknown> =>
      database.inTransaction((tx) => tx.query(`PRAGMA max_page_count = ${pages}`));
    await database.inTransaction((tx) => tx.query(insert('before')));
    await limit('1');
    const big = database.inTransaction(async (tx) => {
      await tx.query(insert('small'));
      await tx.query(insert('x'.repeat(1_000_000)));
    });
    await expect(big).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await allRows(database, 'SELECT key FROM fences')).toEqual([{ key: 'before' }]);
    await limit('1000000');
    await database.inTransaction((tx) => tx.query(insert('after')));
    expect(await allRows(database, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  it('refuses a file that is not a database, naming the cure', async () => {
    await writeFile(path, 'this is no database '.repeat(1000));
    await expect(database.start()).rejects.toMatchObject({
      code: 'DATABASE_CORRUPT',
      fatal: true,
      message: expect.stringMatching(/move it away/),
    });
  });

  it('refuses a damaged database', async () => {
    await database.start();
    await database.stop();
    const file = await open(path, 'r+');
    await file.write(Buffer.alloc(40_000, 0xff), 0, 40_000, 100);
    await file.close();
    await expect(database.start()).rejects.toMatchObject({ code: 'DATABASE_CORRUPT' });
  });

  it('refuses a path whose directory is missing, and starts once it is there', async () => {
    const missing = join(folder.path, 'missing');
    database = createDatabase(`sqlite:${join(missing, 'millrace.db')}`);
    await expect(database.start()).rejects.toMatchObject({
      code: 'DATABASE_FILE',
      message: expect.stringContaining(`mkdir -p '${missing}'`),
    });
    await mkdir(missing);
    await database.start();
    expect(await database.health()).toEqual({ status: 'up' });
  });

  it('refuses a directory in place of the file', async () => {
    await mkdir(path);
    await expect(database.start()).rejects.toMatchObject({ code: 'DATABASE_FILE', fatal: true });
  });

  it('refuses a file that the user may not write, naming the cure', async () => {
    await chmod(folder.path, 0o755);
    await writeFile(path, '', { mode: 0o444 });
    const error = await asOrdinaryUser(() => database.start().catch((reason: unknown) => reason));
    expect(errorCode(error)).toBe('DATABASE_FILE');
    expect(String(error)).toMatch(/permission/);
  });
}

/** Root may write everything; so that permissions count, root becomes nobody for a moment. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
