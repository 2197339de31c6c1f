import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger, silentLogger } from '#service';
import { DATABASE_KINDS, spawnBuilt, tempFolder, testDatabase, type TestDatabase } from '#testing';
import { databaseNow } from './query.js';
import { allRows, openDatabase, registerFiles } from './database.fixture.js';
import { deferred } from './deferred.fixture.js';
import type { Database } from './database.service.js';
import { FileClaims } from './file-claims.repository.js';
import { execute } from './query.js';

// A start of a process costs a second of a core.
const PROCESSES = process.env.MILLRACE_TORTURE === 'full' ? 8 : 4;

describe.each(DATABASE_KINDS)('getNextFile on %s', (kind) => {
  let target: TestDatabase;
  let database: Database;
  let claims: FileClaims;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
    claims = new FileClaims(database, silentLogger);
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  const change = (sql: string, params: unknown[] = []): Promise<number> =>
    database.inTransaction((tx) => execute(tx, sql, params));
  const states = (): Promise<object[]> =>
    allRows(database, 'SELECT name, status, worker_id, claims FROM files ORDER BY id');

  it('returns a pending file when there is one', async () => {
    await registerFiles(database, 1);
    expect(await claims.getNextFile('me')).toMatchObject({
      path: '/r/file-0',
      size: 0,
      revision: 1,
      mtimeNs: '1700000000000000001',
      status: 'processing',
      workerId: 'me',
      removed: false,
    });
  });

  it("marks the returned file 'processing' and the worker's own in the database", async () => {
    await registerFiles(database, 2);
    await claims.getNextFile('me');
    expect(await states()).toEqual([
      { name: 'file-0', status: 'processing', worker_id: 'me', claims: 1 },
      { name: 'file-1', status: 'pending', worker_id: null, claims: 0 },
    ]);
  });

  it('hands out what a clock that was set back would hide: jobs enqueued, and leases given, in the future', async () => {
    await registerFiles(database, 2);
    const hour = `${databaseNow(kind)} + 3700000`;
    await change(`UPDATE files SET enqueued_at = ${hour}`);
    await change(
      `UPDATE files SET status = 'processing', worker_id = 'dead', claimed_until = ${hour} WHERE name = 'file-1'`,
    );
    const found = await claims.getNextFiles('me', 10, { queueGraceMs: 60_000, enqueuedOnly: true });
    expect(found.map(({ name }) => name).sort()).toEqual(['file-0', 'file-1']);
    expect(await claims.getNextFiles('other', 10)).toEqual([]);
  });

  it('returns null when no file is pending', async () => {
    await registerFiles(database, 1);
    await change("UPDATE files SET status = 'batched'");
    expect(await claims.getNextFile('me')).toBeNull();
    expect(await claims.getNextFiles('me', 10)).toEqual([]);
  });

  it('passes over removed files', async () => {
    await registerFiles(database, 1);
    await change('UPDATE files SET removed = 1');
    expect(await claims.getNextFile('me')).toBeNull();
  });

  it('is atomic: an error in the middle claims nothing, is logged, and reads as null', async () => {
    await registerFiles(database, 3);
    await plantFailure(kind, change);
    const lines: string[] = [];
    const logger = createLogger({
      service: 'test',
      workerId: 'me',
      level: 'error',
      stream: { write: (line) => void lines.push(line) },
    });
    const failing = new FileClaims(database, logger);
    expect(await failing.getNextFiles('me', 3)).toEqual([]);
    expect(await failing.getNextFile('me')).toMatchObject({ name: 'file-0' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('getNextFile');
    expect(lines[0]).toContain('planted');
    expect(await allRows(database, "SELECT name FROM files WHERE status = 'processing'")).toEqual([
      { name: 'file-0' },
    ]);
  });

  it('takes what expired and what is pending in one transaction: either both or neither', async () => {
    await registerFiles(database, 3);
    await claims.getNextFile('dead');
    await change("UPDATE files SET claimed_until = 1 WHERE status = 'processing'");
    await plantFailure(kind, change);
    expect(await claims.getNextFiles('me', 3)).toEqual([]);
    expect(await allRows(database, "SELECT name, worker_id FROM files WHERE status = 'processing'")).toEqual([
      { name: 'file-0', worker_id: 'dead' },
    ]);
  });

  it('reads as null while the database is closed', async () => {
    await database.stop();
    expect(await claims.getNextFile('me')).toBeNull();
  });

  it('claims many with one call, each once', async () => {
    await registerFiles(database, 25);
    const first = await claims.getNextFiles('me', 10);
    const second = await claims.getNextFiles('you', 100);
    expect([first.length, second.length]).toEqual([10, 15]);
    expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(25);
  });

  it('gives a claim that expired to another worker, and not a moment earlier', async () => {
    await registerFiles(database, 1);
    const mine = await claims.getNextFile('dead', { leaseMs: 600_000 });
    expect(await claims.getNextFile('other')).toBeNull();
    await change(`UPDATE files SET claimed_until = ${databaseNow(kind)} - 1`);
    const taken = await claims.getNextFile('other');
    expect(taken).toMatchObject({ id: mine?.id, workerId: 'other', claims: 2 });
  });

  it("judges leases by the database's clock, not by that of the process", async () => {
    await registerFiles(database, 1);
    const realNow = Date.now.bind(Date);
    try {
      Date.now = () => realNow() - 3_600_000;
      await claims.getNextFile('an hour behind', { leaseMs: 600_000 });
      Date.now = () => realNow() + 3_600_000;
      expect(await claims.getNextFile('an hour ahead')).toBeNull();
    } finally {
      Date.now = realNow;
    }
  });

  it('leaves files to the queue whose job was enqueued within the grace', async () => {
    await registerFiles(database, 3);
    const now = databaseNow(kind);
    await change(`UPDATE files SET enqueued_at = ${now} WHERE name = 'file-0'`);
    await change(`UPDATE files SET enqueued_at = ${now} - 60000 WHERE name = 'file-1'`);
    const claimed = await claims.getNextFiles('sweep', 10, { queueGraceMs: 30_000 });
    expect(claimed.map(({ name }) => name).sort()).toEqual(['file-1', 'file-2']);
  });

  it('hands back only what the worker still holds, to be claimed again at once', async () => {
    await registerFiles(database, 2);
    const [mine, lost] = (await claims.getNextFiles('me', 2)).map(({ id }) => id);
    await change("UPDATE files SET worker_id = 'other' WHERE id = $1", [lost]);
    expect(await claims.release('me', [mine ?? 0, lost ?? 0])).toBe(1);
    expect((await claims.getNextFiles('next', 10)).map(({ id }) => id)).toEqual([mine]);
  });

  it('does not wait for, nor touch, what another transaction is claiming', async () => {
    await registerFiles(database, 2);
    const inside = deferred();
    const go = deferred();
    const open = database.inTransaction(async () => {
      const file = await claims.getNextFile('slow');
      inside.resolve();
      await go.promise;
      return file;
    });
    await inside.promise;
    const other = claims.getNextFile('fast');
    // SQLite has one writer: there, the other one comes after the first has ended.
    if (kind === 'sqlite') go.resolve();
    expect(await other).toMatchObject({ name: 'file-1' });
    go.resolve();
    expect(await open).toMatchObject({ name: 'file-0' });
  });

  it(`gives each of 10,000 files to exactly one of ${PROCESSES} processes`, async () => {
    await registerFiles(database, 10_000);
    const folder = await tempFolder('claims');
    const start = join(folder.path, 'start');
    const workers = Array.from({ length: PROCESSES }, (_, n) =>
      spawnBuilt('libs/database/testing/claims.process', [target.url, `w${n}`, start]),
    );
    await Promise.all(workers.map((child) => child.output('ready', 90_000)));
    await writeFile(start, '');
    await Promise.all(workers.map((child) => child.exited));
    const claimed = workers.flatMap((child) => child.logs().flatMap(({ ids }) => ids as number[]));
    expect(claimed).toHaveLength(10_000);
    expect(new Set(claimed).size).toBe(10_000);
    expect(
      await allRows(database, 'SELECT status, max(claims) AS claims FROM files GROUP BY status'),
    ).toEqual([{ status: 'processing', claims: 1 }]);
    await folder.remove();
  }, 240_000);
});

/** The third file cannot be claimed: whoever tries fails after the first two were already marked. */
async function plantFailure(kind: string, change: (sql: string) => Promise<number>): Promise<void> {
  if (kind === 'sqlite') {
    await change(`CREATE TRIGGER planted BEFORE UPDATE ON files WHEN new.name = 'file-2' AND new.status = 'processing'
      BEGIN SELECT raise(ABORT, 'planted'); END`);
    return;
  }
  await change(
    `CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''planted''; END'`,
  );
  await change(`CREATE TRIGGER planted BEFORE UPDATE ON files FOR EACH ROW
    WHEN (new.name = 'file-2' AND new.status = 'processing') EXECUTE FUNCTION planted()`);
}
