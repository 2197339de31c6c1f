import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Work } from '#database';
import { fileStat } from '#files';
import { DATABASE_KINDS, tempFolder, type TempFolder } from '#testing';
import { recordHashes } from './hashing/hash-recorder.js';
import type { HashOutcome } from './hashing/hash-file.js';
import { markRemoved } from './mark-removed.js';
import { MassRemovalError } from './producer.errors.js';
import { FileRows } from './registration/files.repository.js';
import { FolderRows } from './registration/folders.repository.js';
import type { Scan } from './scan.js';
import { noScanCounters } from './registration/scan-counters.js';
import { ScanRows } from './registration/scans.repository.js';
import { ScanRig, type FileRow } from './scan.fixture.js';

describe.each(DATABASE_KINDS)('what a scan says of the tree, on %s', (kind) => {
  let folder: TempFolder;
  let rig: ScanRig;
  let root: string;

  beforeAll(async () => {
    rig = await ScanRig.start(kind);
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    folder = await tempFolder('truth');
    root = join(folder.path, 'root');
    mkdirSync(root);
    for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(root, name), name);
  });
  afterEach(() => folder.remove());

  const row = async (name: string): Promise<FileRow> => (await rig.files(root)).get(name) as FileRow;
  const stat = (name: string) => fileStat(statSync(join(root, name), { bigint: true }));

  it('has files looked at again that were skipped for what the outside can undo, and only those', async () => {
    await rig.scan(root);
    await rig.execute("UPDATE files SET status = 'analyzed' WHERE name IN ('c', 'd')");
    await rig.execute("UPDATE files SET status = 'skipped', skip_reason = 'vanished' WHERE name = 'a'");
    await rig.execute("UPDATE files SET status = 'skipped', skip_reason = 'binary' WHERE name = 'b'");
    const { summary } = await rig.scan(root);
    expect(summary).toMatchObject({ changed: 1, enqueued: 1, open: 0 });
    expect(await row('a')).toMatchObject({ status: 'pending', skip_reason: null, revision: 2 });
    expect(await row('b')).toMatchObject({ status: 'skipped', skip_reason: 'binary', revision: 1 });
    await rig.execute("UPDATE files SET status = 'skipped', skip_reason = 'unreadable' WHERE name = 'a'");
    rmSync(join(root, 'a'));
    writeFileSync(join(root, 'e'), 'e');
    expect((await rig.scan(root)).summary).toMatchObject({ removed: 1, open: 0 });
  });

  it('counts a file that is gone when it is hashed with all that is missing, claimed or not', async () => {
    await rig.scan(root);
    const [scan] = await rig.query<{ id: number; root_id: number }>(
      'SELECT s.id, s.root_id FROM scans s JOIN roots r ON r.id = s.root_id WHERE r.path = $1',
      [root],
    );
    const { id: scanId, root_id: rootId } = scan!;
    const rows = { files: new FileRows(rig.database, 200), folders: new FolderRows(rig.database) };
    await rig.execute(
      "UPDATE files SET status = 'processing', worker_id = 'w', claimed_until = 9999999999999 WHERE name = 'a'",
    );
    const gone = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const { id, path } = await row(name);
        const file = { id, revision: 1, path, pathBytes: null, ...stat(name) };
        return { file, outcome: { state: 'gone' } as const };
      }),
    );
    const mark = { scanId, rootId, now: 1 };
    await rig.database.inTransaction((tx) =>
      recordHashes(tx, rows.files, gone, { mark, algorithm: 'sha256' }),
    );
    const current = { id: scanId, rootId, resumed: false, counters: noScanCounters() };
    const end = (allow: boolean): Promise<string> =>
      markRemoved({
        parts: {
          config: { SCAN_MODE: 'all', ALLOW_MASS_REMOVAL: allow, MAX_REMOVAL_PERCENT: 50 },
          rows,
          write: (work: Work<unknown>) => rig.database.inTransaction(work),
        },
        row: current,
        pool: { metrics: () => ({ failed: 0 }) },
        signal: new AbortController().signal,
      } as unknown as Scan);
    await expect(end(false)).rejects.toBeInstanceOf(MassRemovalError);
    expect((await row('a')).removed).toBe(0);
    await end(true);
    expect(await row('a')).toMatchObject({ removed: 1, status: 'pending' });
    expect((await row('d')).removed).toBe(0);
  });

  it('lists what is nearest to the root first, in whatever order it was found', async () => {
    mkdirSync(join(root, 'x/y/z'), { recursive: true });
    const { summary } = await rig.scan(root);
    await rig.execute('UPDATE folders SET listed_scan_id = 0, depth = 9 - depth WHERE last_scan_id = $1', [
      summary.scanId,
    ]);
    const rows = new FolderRows(rig.database);
    const frontier = await rows.frontier(summary.scanId, 3);
    expect(frontier.map(({ depth }) => depth)).toEqual([6, 7, 8]);
  });

  it('says when it last saw each folder, and each file of a folder that it listed anew', async () => {
    mkdirSync(join(root, 'x'));
    writeFileSync(join(root, 'x/e'), 'e');
    await rig.scan(root);
    const begun = Date.now() - 60_000;
    for (const table of ['files', 'folders']) await rig.execute(`UPDATE ${table} SET last_scanned_at = 1`);
    writeFileSync(join(root, 'new'), 'new');
    await rig.scan(root);
    const seen = async (table: string): Promise<Record<string, boolean>> => {
      const rows = await rig.query<{ path: string; at: number }>(
        `SELECT path, last_scanned_at AS at FROM ${table} WHERE path LIKE '${root}%'`,
      );
      return Object.fromEntries(rows.map(({ path, at }) => [path.slice(root.length), Number(at) > begun]));
    };
    expect(await seen('folders')).toEqual({ '': true, '/x': true });
    // The files of a folder whose listing is what it was are told by their folder: their rows are not written.
    const asBefore = { '/x/e': false };
    expect(await seen('files')).toEqual({
      '/a': true,
      '/b': true,
      '/c': true,
      '/d': true,
      '/new': true,
      ...asBefore,
    });
  });

  it('records with a file why it could not be hashed, and leaves it in place', async () => {
    await rig.scan(root);
    const results = await Promise.all(
      [
        ['a', { state: 'failed', error: 'EACCES', message: 'permission denied' }],
        ['b', { state: 'failed', error: 'EIO', message: 'i/o error' }],
        ['c', { state: 'changing' }],
      ].map(async ([name, outcome]) => {
        const { id, path } = await row(name as string);
        const file = { id, revision: 1, path, pathBytes: null, ...stat(name as string) };
        return { file, outcome: outcome as HashOutcome };
      }),
    );
    const rows = new FileRows(rig.database, 200);
    const mark = { scanId: 1, rootId: 1, now: 1 };
    await rig.database.inTransaction((tx) => recordHashes(tx, rows, results, { mark, algorithm: 'sha256' }));
    for (const [name, error_status] of Object.entries({ a: 'EACCES', b: 'EIO', c: 'CHANGING', d: null }))
      expect(await row(name)).toMatchObject({
        error_status,
        removed: 0,
        hash_value: null,
        status: 'pending',
      });
  });

  it('says which line of an ignore file it does not follow, and goes on', async () => {
    writeFileSync(join(root, '.gitignore'), `d\n${'a/**/'.repeat(8)}b\n`);
    rmSync(join(root, 'a'));
    mkdirSync(join(root, 'a/'.repeat(60)), { recursive: true });
    const { summary, logs } = await rig.scan(root);
    expect(summary).toMatchObject({ outcome: 'completed', errorCodes: { RULE_REFUSED: 1 } });
    expect(
      logs.map(({ msg }) => String(msg)).filter((msg) => msg.includes('.gitignore: line 2')),
    ).toHaveLength(1);
  });

  it('leaves out its own output when that is made while it runs', async () => {
    const out = join(root, 'out');
    const lease = await rig.locks.acquire(root);
    const running = rig.create(root, lease!, { EXCLUDE_PATHS: out }).run();
    mkdirSync(out);
    writeFileSync(join(out, 'batch'), 'x');
    await running.finally(() => lease!.release());
    expect([...(await rig.files(root)).keys()]).toEqual(['a', 'b', 'c', 'd']);
  });

  if (kind === 'postgres') {
    it('stores one of two overlapping roots that are begun at once', async () => {
      const terms = (path: string) => ({
        ...{ root: Buffer.from(path), workerId: 'w', fence: 1, mode: 'all' as const, rules: '{}' },
        ...{ resumeWithinMs: 0, now: 1 },
      });
      let second: Promise<unknown> | undefined;
      await rig.database.inTransaction(async (tx) => {
        await new ScanRows().begin(tx, terms('/over'));
        second = rig.database
          .inTransaction((other) => new ScanRows().begin(other, terms('/over/lap')), { ambient: false })
          .then(
            () => 'stored',
            (error: { code?: string }) => error.code,
          );
        // Ends before the first commits only where it does not wait for it.
        await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 500))]);
      });
      expect(await second).toBe('ROOT_OVERLAPS');
    });

    it('gives a file no second revision for what a batcher is just committing', async () => {
      await rig.scan(root);
      const { id, path } = await row('a');
      const listed = stat('a');
      writeFileSync(join(root, 'a'), 'changed');
      const now = stat('a');
      const rows = new FileRows(rig.database, 200);
      const file = { id, revision: 1, path, pathBytes: null, ...listed };
      const results = [{ file, outcome: { state: 'hashed' as const, hash: 'h', stat: now } }];
      const mark = { scanId: 1, rootId: 1, now: 1 };
      let recorded: Promise<unknown> | undefined;
      await rig.database.inTransaction(async (tx) => {
        await tx.query(
          `UPDATE files SET status = 'batched', size = ${now.size}, mtime_ns = '${now.mtimeNs}',
             ctime_ns = '${now.ctimeNs}', inode = '${now.inode}' WHERE id = ${id}`,
        );
        recorded = rig.database.inTransaction(
          (other) => recordHashes(other, rows, results, { mark, algorithm: 'sha256' }),
          { ambient: false },
        );
        await Promise.race([recorded, new Promise((resolve) => setTimeout(resolve, 500))]);
      });
      expect(await recorded).toEqual([]);
      expect(await row('a')).toMatchObject({ revision: 1, status: 'batched' });
    });
  }
});
