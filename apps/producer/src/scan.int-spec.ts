import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Duplicates } from '#database';
import { DATABASE_KINDS, tempFolder, type TempFolder } from '#testing';
import { FileRows } from './registration/files.repository.js';
import { ScanRig } from './scan.fixture.js';

describe.each(DATABASE_KINDS)('a scan on %s', (kind) => {
  let folder: TempFolder;
  let rig: ScanRig;
  let root: string;

  beforeAll(async () => {
    rig = await ScanRig.start(kind);
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    folder = await tempFolder('scan');
    root = join(folder.path, 'root');
    mkdirSync(join(root, 'a/b'), { recursive: true });
    for (const name of ['one', 'a/two', 'a/b/three']) write(name, name);
  });
  afterEach(() => folder.remove());

  const write = (name: string, text: string): void => writeFileSync(join(root, name), text);
  const statuses = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      [...(await rig.files(root))].map(([path, row]) => [path, row.removed ? 'removed' : row.status]),
    );
  const scanError = (settings: Record<string, string> = {}): Promise<unknown> =>
    rig.scan(root, settings).then(
      () => undefined,
      (error: unknown) => error,
    );

  it('registers folders and files, enqueues each file once and marks it', async () => {
    const { summary } = await rig.scan(root);
    expect(summary).toMatchObject({ outcome: 'completed', folders: 3, files: 3, created: 3, enqueued: 3 });
    expect(await statuses()).toEqual({ one: 'pending', 'a/two': 'pending', 'a/b/three': 'pending' });
    const files = await rig.files(root);
    const jobs = await rig.jobs(root);
    expect(
      jobs.map(({ fileId, revision, filePath, fileSize }) => ({ fileId, revision, filePath, fileSize })),
    ).toEqual(
      expect.arrayContaining(
        [...files.values()].map(({ id, path, size }) => ({
          fileId: id,
          revision: 1,
          filePath: path,
          fileSize: size,
        })),
      ),
    );
    expect(jobs).toHaveLength(3);
    for (const { enqueued_at } of files.values()) expect(enqueued_at).toBeGreaterThan(0);
    expect((await rig.folders(root)).get('a/b')).toMatchObject({ depth: 2, removed: 0, error_status: null });
  });

  it('leaves the mark of who settled the file before it was marked', async () => {
    await rig.scan(root);
    await rig.execute(`UPDATE files SET enqueued_at = 7 WHERE path = $1`, [join(root, 'one')]);
    const files = [...(await rig.files(root)).values()];
    await rig.database.inTransaction((tx) => new FileRows(rig.database, 1).markEnqueued(tx, files));
    expect((await rig.files(root)).get('one')).toMatchObject({ enqueued_at: 7 });
  });

  it('marks by the clock of the database when its own is wrong', async () => {
    const now = Date.now.bind(Date);
    const wrong = jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    await rig.scan(root).finally(() => wrong.mockRestore());
    for (const { enqueued_at } of (await rig.files(root)).values())
      expect(Math.abs(now() - enqueued_at)).toBeLessThan(600_000);
  });

  it('enqueues on a rescan only what is new or changed, and leaves the rest untouched', async () => {
    await rig.scan(root);
    const before = await rig.files(root);
    write('a/two', 'changed now');
    write('a/new', 'new');
    const { summary } = await rig.scan(root);
    expect(summary).toMatchObject({ created: 1, changed: 1, unchanged: 2, removed: 0, enqueued: 2 });
    const after = await rig.files(root);
    expect(after.get('a/two')).toMatchObject({ revision: 2, status: 'pending', size: 11 });
    expect(after.get('a/b/three')).toEqual(before.get('a/b/three'));
    expect(await rig.jobs(root)).toHaveLength(4);
  });

  it('sees a file replaced by one of the same size and time', async () => {
    await rig.scan(root);
    execFileSync('cp', ['-p', join(root, 'one'), join(root, 'copy')]);
    renameSync(join(root, 'copy'), join(root, 'one'));
    const { summary } = await rig.scan(root);
    expect(summary).toMatchObject({ changed: 1 });
  });

  it('marks what is gone removed, and brings back what returns', async () => {
    await rig.scan(root);
    renameSync(join(root, 'a/b'), join(folder.path, 'away'));
    const gone = await rig.scan(root);
    expect(gone.summary.removed).toBe(1);
    expect(await statuses()).toMatchObject({ one: 'pending', 'a/b/three': 'removed' });
    expect((await rig.folders(root)).get('a/b')?.removed).toBe(1);
    renameSync(join(folder.path, 'away'), join(root, 'a/b'));
    await rig.scan(root);
    expect(await statuses()).toMatchObject({ 'a/b/three': 'pending' });
    expect((await rig.files(root)).get('a/b/three')).toMatchObject({ revision: 1 });
    expect((await rig.folders(root)).get('a/b')?.removed).toBe(0);
  });

  it('marks what is gone removed although recovery has claimed it', async () => {
    await rig.scan(root);
    await rig.execute(`UPDATE files SET status = 'processing', worker_id = 'r', claimed_until = $1`, [
      Date.now() + 60_000,
    ]);
    rmSync(join(root, 'a/two'));
    expect((await rig.scan(root)).summary).toMatchObject({ outcome: 'completed', removed: 1 });
    expect(await statuses()).toEqual({ one: 'processing', 'a/two': 'removed', 'a/b/three': 'processing' });
  });

  it('stops and asks before it marks more than half removed, and marks nothing until told', async () => {
    await rig.scan(root);
    rmSync(join(root, 'a'), { recursive: true });
    expect(await scanError()).toMatchObject({ code: 'MASS_REMOVAL', missing: 2, known: 3, exitCode: 77 });
    expect(Object.values(await statuses())).not.toContain('removed');
    expect(rig.lastSummary().outcome).toBe('refused');
    const { summary } = await rig.scan(root, { ALLOW_MASS_REMOVAL: 'true' });
    expect(summary.removed).toBe(2);
    expect(await statuses()).toEqual({ one: 'pending', 'a/two': 'removed', 'a/b/three': 'removed' });
  });

  it('remembers over a refused scan that something is missing', async () => {
    for (const name of ['a/x', 'a/y', 'a/z']) write(name, name);
    await rig.scan(root);
    for (const name of ['a/x', 'a/y', 'a/z', 'a/two']) rmSync(join(root, name));
    expect(await scanError()).toMatchObject({ code: 'MASS_REMOVAL' });
    const { summary } = await rig.scan(root, { MAX_REMOVAL_PERCENT: '90' });
    expect(summary.removed).toBe(4);
  });

  it('marks nothing removed under a folder that could not be listed', async () => {
    write('c', 'c');
    write('d', 'd');
    await rig.scan(root);
    // A folder that turned into a file cannot be listed between the listing of its parent and its own.
    await rig.execute(`UPDATE folders SET path = $1, path_bytes = NULL WHERE path = $2`, [
      join(root, 'no-such-place'),
      join(root, 'a/b'),
    ]);
    rmSync(join(root, 'd'));
    const { summary, logs } = await rig.scan(root);
    expect(summary).toMatchObject({ errors: 1, removed: 1, errorCodes: { ENOENT: 1 } });
    expect(logs.filter(({ code }) => code === 'ENOENT')).toMatchObject([
      { level: 'warn', path: join(root, 'no-such-place'), msg: expect.stringContaining('not readable') },
    ]);
    expect(await statuses()).toMatchObject({ 'a/b/three': 'pending', d: 'removed' });
  });

  it('records special files, links and large files with their reason, and enqueues none of them', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    symlinkSync('/etc/passwd', join(root, 'link'));
    write('large', 'x'.repeat(100));
    const { summary } = await rig.scan(root, { MAX_FILE_BYTES: '50' });
    expect(summary.skipped).toEqual({ fifo: 1, symlink: 1, 'too-large': 1 });
    const files = await rig.files(root);
    expect(files.get('pipe')).toMatchObject({ status: 'skipped', skip_reason: 'fifo' });
    expect(files.get('large')).toMatchObject({ status: 'skipped', skip_reason: 'too-large' });
    expect(await rig.jobs(root)).toHaveLength(3);
    const second = await rig.scan(root, { MAX_FILE_BYTES: '5000' });
    expect(second.summary).toMatchObject({ changed: 0, enqueued: 1 });
    expect((await rig.files(root)).get('large')).toMatchObject({ status: 'pending', skip_reason: null });
  });

  it('does not register what the rules leave out, and removes what they leave out later', async () => {
    write('.gitignore', '*.log\n');
    write('x.log', 'x');
    const { summary } = await rig.scan(root);
    expect(summary.leftOut).toEqual({ ignored: 1 });
    expect(await statuses()).not.toHaveProperty('x.log');
    write('.gitignore', '*.log\nb/\n');
    await rig.scan(root);
    expect(await statuses()).toMatchObject({ 'a/b/three': 'removed', one: 'pending' });
  });

  it('enqueues what an earlier run registered but did not enqueue', async () => {
    await rig.scan(root);
    await rig.execute(`UPDATE files SET enqueued_at = 0 WHERE path = $1`, [join(root, 'one')]);
    const { summary } = await rig.scan(root);
    expect(summary.enqueued).toBe(1);
    // It is in two jobs by now, of which its row names one.
    expect(await rig.jobs(root)).toHaveLength(3);
  });

  it('scans folders only, then files in the folders it knows', async () => {
    const folders = await rig.scan(root, { SCAN_MODE: 'folders' });
    expect(folders.summary).toMatchObject({ folders: 3, files: 0, enqueued: 0 });
    mkdirSync(join(root, 'later'));
    write('later/unknown', 'x');
    const files = await rig.scan(root, { SCAN_MODE: 'files' });
    expect(files.summary).toMatchObject({ folders: 3, files: 3, enqueued: 3 });
    expect(await statuses()).not.toHaveProperty('later/unknown');
    const all = await rig.scan(root);
    expect(all.summary).toMatchObject({ folders: 4, files: 4, enqueued: 1, removed: 0 });
  });

  it('says nothing about files when it looked only at folders', async () => {
    await rig.scan(root);
    rmSync(join(root, 'one'));
    const { summary } = await rig.scan(root, { SCAN_MODE: 'folders' });
    expect(summary.removed).toBe(0);
    expect(await statuses()).toMatchObject({ one: 'pending' });
    expect((await rig.scan(root)).summary.removed).toBe(1);
  });

  it.each(kind === 'sqlite' ? ['sha256', 'sha512', 'sha3-256'] : ['sha512'])(
    'hashes every file with %s',
    async (algorithm) => {
      const { summary } = await rig.scan(root, { HASH_SCOPE: 'all', HASH_ALGORITHM: algorithm });
      expect(summary.hashed).toBe(3);
      const { hash_value, hash_algorithm } = (await rig.files(root)).get('a/two') ?? {};
      expect(hash_value).toBe(createHash(algorithm).update('a/two').digest('hex'));
      expect(hash_algorithm).toBe(algorithm);
      const again = await rig.scan(root, { HASH_SCOPE: 'all', HASH_ALGORITHM: algorithm });
      expect(again.summary.hashed).toBe(0);
    },
  );

  it('hashes only files that share their size when asked for candidates', async () => {
    write('twin-1', 'same size');
    write('twin-2', 'SAME SIZE');
    write('empty-1', '');
    write('empty-2', '');
    const { summary } = await rig.scan(root, { HASH_SCOPE: 'candidates' });
    expect(summary.hashed).toBe(3);
    const files = await rig.files(root);
    expect([...files].filter(([, row]) => row.hash_value !== null).map(([path]) => path)).toEqual([
      'a/b/three',
      'twin-1',
      'twin-2',
    ]);
  });

  it('finds what is stored twice, the largest waste first', async () => {
    mkdirSync(join(root, 'copies'));
    for (const name of ['p', 'q', 'r']) write(`copies/${name}`, 'short');
    for (const name of ['x', 'y']) write(`copies/${name}`, `${kind} ${'long'.repeat(100)}`);
    await rig.scan(root, { HASH_SCOPE: 'candidates' });
    const groups = (await new Duplicates(rig.database).groups({ limit: 1000 })).filter(({ paths }) =>
      paths.every((path) => path.startsWith(join(root, 'copies'))),
    );
    expect(groups.map(({ size, copies, waste }) => ({ size, copies, waste }))).toEqual([
      { size: kind.length + 401, copies: 2, waste: kind.length + 401 },
      { size: 5, copies: 3, waste: 10 },
    ]);
    expect(groups[1]?.paths).toEqual(['p', 'q', 'r'].map((name) => join(root, 'copies', name)));
    expect(groups[1]?.algorithm).toBe('sha256');
  });

  it('refuses a root that lies inside another, or around it', async () => {
    await rig.scan(root);
    await expect(rig.scan(join(root, 'a'))).rejects.toMatchObject({ code: 'ROOT_OVERLAPS', exitCode: 65 });
    await expect(rig.scan(folder.path)).rejects.toMatchObject({ code: 'ROOT_OVERLAPS' });
  });

  it('writes nothing once a later lease exists', async () => {
    const lease = await rig.locks.acquire('stale');
    if (!lease) throw new Error('no lease');
    await rig.database.inTransaction((tx) =>
      tx.query(`UPDATE fences SET fence = fence + 1 WHERE key = 'stale'`),
    );
    await expect(rig.create(root, lease).run()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await rig.outcomes(root)).toEqual([]);
    expect(await statuses()).toEqual({});
    expect(await rig.jobs(root)).toEqual([]);
  });

  it('stops at once when the lease is lost in the middle, and the next run goes on', async () => {
    for (let index = 0; index < 30; index++) {
      mkdirSync(join(root, `d${index}`));
      write(`d${index}/f`, 'x');
    }
    const lease = await rig.locks.acquire(root);
    if (!lease) throw new Error('no lease');
    const scan = rig.create(root, lease, { WORKERS: '1' });
    const run = scan.run();
    await rig.database.inTransaction((tx) => tx.query(`UPDATE fences SET fence = fence + 1`));
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await lease.release();
    const { summary } = await rig.scan(root);
    expect(summary).toMatchObject({ outcome: 'completed', files: 33 });
    expect(await rig.jobs(root)).toHaveLength(33);
  });

  it('interrupted, leaves a checkpoint and is continued without listing again what it listed', async () => {
    for (let index = 0; index < 40; index++) {
      mkdirSync(join(root, `d${index}`));
      write(`d${index}/f`, 'x');
    }
    const stop = new AbortController();
    const running = rig.scan(root, { WORKERS: '1' }, stop.signal);
    stop.abort();
    const first = await running;
    expect(first.outcome).toBe('interrupted');
    const listed = await rig.query<{ id: number }>(
      'SELECT id FROM folders WHERE listed_scan_id = last_scan_id AND last_scan_id = $1',
      [first.summary.scanId],
    );
    const second = await rig.scan(root);
    expect(second.summary).toMatchObject({ resumed: true, outcome: 'completed', folders: 43, files: 43 });
    expect(second.summary.scanId).toBe(first.summary.scanId);
    expect(listed.length).toBeLessThan(43);
    expect(await rig.outcomes(root)).toEqual(['completed']);
  });

  it('begins anew when the interrupted scan is too old', async () => {
    const stop = new AbortController();
    const running = rig.scan(root, {}, stop.signal);
    stop.abort();
    await running;
    const { summary } = await rig.scan(root, { RESUME_WITHIN_MS: '0' });
    expect(summary).toMatchObject({ resumed: false, outcome: 'completed', files: 3 });
    expect(await rig.outcomes(root)).toEqual(['interrupted', 'completed']);
  });
});
