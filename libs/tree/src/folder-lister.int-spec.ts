import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  statSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tempFolder, type TempFolder } from '#testing';
import { FolderLister, MOUNT_GONE } from './folder-lister.js';
import type { FolderListing, FolderRef, ListingChunk, ListingRules } from './listing.js';
import { identityOf } from './rule-chain.js';

let folder: TempFolder;
let root: string;

beforeEach(async () => {
  folder = await tempFolder('listing');
  root = join(folder.path, 'root');
  mkdirSync(root);
});
afterEach(() => folder.remove());

function lister(rules: Partial<ListingRules> = {}, chunk = 900): FolderLister {
  const all: ListingRules = {
    root: Buffer.from(root).toString('base64'),
    mode: 'all',
    include: [],
    exclude: [],
    maxFileBytes: 1000,
    hidden: true,
    gitignore: true,
    followSymlinks: false,
    excludedIdentities: [],
    excludedPaths: [],
    ...rules,
  };
  return new FolderLister(all, { chunk, checkpoint: () => {} });
}

function ref(below = '', known: Partial<FolderRef> = {}): FolderRef {
  const path = below ? join(root, below) : root;
  return { id: 1, path, pathBytes: null, depth: 0, identity: null, listedScanId: 0, digest: null, ...known };
}

/** Root may look at anything, so be nobody for the moment of a synchronous call. */
function asNobody(call: () => void): void {
  const root = process.getuid?.() === 0;
  if (root) process.seteuid?.(65_534);
  try {
    call();
  } finally {
    if (root) process.seteuid?.(0);
  }
}

type Listed = FolderListing & { state: 'listed' };

function list(below = '', rules: Partial<ListingRules> = {}): Listed {
  const listing = lister(rules).list(ref(below));
  if (listing.state !== 'listed') throw new Error(`not listed: ${JSON.stringify(listing)}`);
  return listing;
}

const names = (listing: Listed): string[] =>
  listing.files.map(({ path }) => path.slice(root.length + 1)).sort();
const skips = (listing: Listed): Record<string, string | null> =>
  Object.fromEntries(listing.files.map(({ path, skip }) => [path.slice(root.length + 1), skip]));
const write = (path: string, text = 'x'): void => writeFileSync(join(root, path), text);

describe('listing a folder without entry types', () => {
  const real = fs.readdirSync;
  afterEach(() => {
    fs.readdirSync = real;
    syncBuiltinESMExports();
  });

  it('finds what has names outside ASCII', () => {
    for (const name of ['\u00fc', 'plain']) mkdirSync(join(root, name));
    writeFileSync(join(root, 'gr\u00fc\u00df'), 'x');
    // What Node does where the system tells no types: it looks at each name as it decoded it.
    fs.readdirSync = ((path: string, options: { encoding: string }) => {
      const entries = real(path, options as never) as unknown as fs.Dirent[];
      for (const { name } of options.encoding === 'buffer' ? [] : entries) statSync(join(String(path), name));
      return entries;
    }) as unknown as typeof real;
    syncBuiltinESMExports();
    const listing = list();
    expect(names(listing)).toEqual(['gr\u00fc\u00df']);
    expect(listing.subfolders.map(({ path }) => path.slice(root.length + 1)).sort()).toEqual([
      'plain',
      '\u00fc',
    ]);
  });
});

describe('listing a folder', () => {
  it('takes a folder that it may not list for unreadable', () => {
    mkdirSync(join(root, 'shut'));
    chmodSync(folder.path, 0o755);
    chmodSync(join(root, 'shut'), 0o000);
    asNobody(() => expect(lister().list(ref('shut'))).toMatchObject({ state: 'failed', error: 'EACCES' }));
  });

  it('takes a file that it may not look at for unreadable, never for vanished', () => {
    writeFileSync(join(root, 'secret'), 'x');
    const real = fs.lstatSync;
    // Of one file alone: no permission bits do that, other rules of the system may.
    const lstatSync = (path: Buffer | string, options: never): unknown => {
      if (String(path).endsWith('/secret'))
        throw Object.assign(new Error('denied'), { code: 'EACCES', syscall: 'lstat' });
      return real(path, options);
    };
    Object.assign(fs, { lstatSync });
    syncBuiltinESMExports();
    try {
      const { files, counts } = list();
      expect(files).toMatchObject([{ name: 'secret', skip: 'unreadable', error: 'EACCES' }]);
      expect(counts.leftOut).toEqual({});
    } finally {
      Object.assign(fs, { lstatSync: real });
      syncBuiltinESMExports();
    }
  });

  it('tells files with size, times to the nanosecond and inode from subfolders', () => {
    write('a.txt', 'hello');
    mkdirSync(join(root, 'sub'));
    const { files, subfolders, counts } = list();
    expect(files).toHaveLength(1);
    expect(files[0]).toMatchObject({ name: 'a.txt', size: 5, skip: null, error: null });
    expect(files[0]?.mtimeNs).toMatch(/^\d{19}$/);
    expect(files[0]?.inode).toBe(String(statSync(join(root, 'a.txt')).ino));
    expect(subfolders.map(({ path }) => path)).toEqual([join(root, 'sub')]);
    expect(counts).toMatchObject({ files: 1, bytes: 5 });
  });

  it('keeps names that bite: newline, quote, right-to-left, 255 bytes, NFC and NFD', () => {
    const odd = [
      'new\nline',
      `it's "q"`,
      '\u202eevil.txt',
      'n'.repeat(255),
      '\u00e9',
      'e\u0301',
      ' ',
      '-rf',
      '%s',
    ];
    for (const name of odd) write(name);
    expect(names(list())).toEqual([...odd].sort());
  });

  it('registers names that are not UTF-8 with their bytes', () => {
    const raw = Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff, 0xfe])]);
    writeFileSync(raw, 'x');
    mkdirSync(Buffer.concat([Buffer.from(`${root}/dir-`), Buffer.from([0xfd])]));
    const { files, subfolders } = list();
    expect(files[0]?.path).toBe(`${root}/bad-\\xff\\xfe`);
    expect(Buffer.from(files[0]?.pathBytes ?? '', 'base64').equals(raw)).toBe(true);
    const inside = { path: subfolders[0]?.path ?? '', pathBytes: subfolders[0]?.pathBytes ?? null };
    expect(lister().list(ref('', inside)).state).toBe('listed');
  });

  it('skips what is no regular file without opening it', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    const server = createServer().listen(join(root, 'sock'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      expect(skips(list())).toEqual({ pipe: 'fifo', sock: 'socket' });
      expect(
        lister({ root: Buffer.from('/dev').toString('base64') }).list(ref('', { path: '/dev' })),
      ).toMatchObject({
        state: 'listed',
        counts: { skipped: { device: expect.any(Number) as unknown as number } },
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('skips what is too large, by its size on the label', () => {
    write('huge');
    truncateSync(join(root, 'huge'), 10 * 1024 ** 3);
    expect(skips(list())).toEqual({ huge: 'too-large' });
    expect(skips(list('', { maxFileBytes: 20 * 1024 ** 3 }))).toEqual({ huge: null });
  });

  it('records why a folder cannot be listed', () => {
    expect(lister().list(ref('none'))).toMatchObject({ state: 'failed', error: 'ENOENT' });
    write('file');
    expect(lister().list(ref('file'))).toMatchObject({ state: 'failed', error: 'ENOTDIR' });
  });

  it('leaves out by their paths those that were made after the scan began', () => {
    mkdirSync(join(root, 'dätä'));
    writeFileSync(join(root, 'm.db-wal'), '');
    writeFileSync(join(root, 'kept'), '');
    const own = ['dätä', 'm.db-wal', 'not-there'].map((name) => join(root, name));
    const excludedPaths = [...own, join(root, 'dätä', 'kept')].map((path) =>
      Buffer.from(path).toString('latin1'),
    );
    const listing = list('', { excludedPaths });
    expect(names(listing)).toEqual(['kept']);
    expect(listing.subfolders).toEqual([]);
    expect(listing.counts.leftOut).toEqual({ 'own-data': 2 });
  });

  it('leaves out our own folders and files by identity, also under another name', () => {
    mkdirSync(join(root, 'data'));
    write('m.db');
    const excludedIdentities = [identityOf(join(root, 'data')), identityOf(join(root, 'm.db'))];
    renameSync(join(root, 'data'), join(root, 'renamed'));
    const listing = list('', { excludedIdentities });
    expect(listing.subfolders).toEqual([]);
    expect(listing.files).toEqual([]);
    expect(listing.counts.leftOut).toEqual({ 'own-data': 2 });
  });

  it('lists only folders when asked for folders', () => {
    write('a');
    mkdirSync(join(root, 'sub'));
    const { files, subfolders } = list('', { mode: 'folders' });
    expect(files).toEqual([]);
    expect(subfolders).toHaveLength(1);
  });
});

describe('ignore files', () => {
  it('count at every depth, deeper ones first, and in .millraceignore too', () => {
    mkdirSync(join(root, 'a/b'), { recursive: true });
    write('.gitignore', '*.log\n');
    write('a/.gitignore', '!keep.log\n');
    write('a/b/.millraceignore', 'secret*\n');
    for (const name of ['x.log', 'a/keep.log', 'a/b/keep.log', 'a/b/y.log', 'a/b/secret.txt', 'a/b/ok'])
      write(name);
    expect(names(list())).toEqual(['.gitignore']);
    expect(names(list('a'))).toEqual(['a/.gitignore', 'a/keep.log']);
    expect(names(list('a/b'))).toEqual(['a/b/.millraceignore', 'a/b/keep.log', 'a/b/ok']);
    expect(list('a/b').counts.leftOut).toEqual({ ignored: 2 });
  });

  it('are not followed when they are links, and never block as FIFOs', () => {
    writeFileSync(join(folder.path, 'outside'), '*\n');
    symlinkSync(join(folder.path, 'outside'), join(root, '.gitignore'));
    execFileSync('mkfifo', [join(root, '.millraceignore')]);
    write('a');
    expect(names(list())).toContain('a');
  });

  it('of git are left aside when told so', () => {
    write('.gitignore', '*\n');
    expect(names(list('', { gitignore: false }))).toEqual(['.gitignore']);
  });
});

describe('symbolic links', () => {
  beforeEach(() => {
    mkdirSync(join(root, 'dir'));
    write('dir/file');
    symlinkSync('dir/file', join(root, 'to-file'));
    symlinkSync('dir', join(root, 'to-dir'));
    symlinkSync('..', join(root, 'up'));
    symlinkSync('/etc', join(root, 'out'));
    symlinkSync('nowhere', join(root, 'broken'));
    symlinkSync('self', join(root, 'self'));
  });

  it('are recorded and not followed by default', () => {
    const listing = list();
    expect(new Set(Object.values(skips(listing)))).toEqual(new Set(['symlink']));
    expect(listing.subfolders.map(({ path }) => path)).toEqual([join(root, 'dir')]);
  });

  it('followed, stay inside the root, and lead nowhere twice', () => {
    const listing = list('', { followSymlinks: true });
    expect(skips(listing)).toEqual({
      'to-file': 'symlink-alias',
      'to-dir': 'symlink-alias',
      up: 'symlink-outside-root',
      out: 'symlink-outside-root',
      broken: 'symlink-broken',
      self: 'symlink-loop',
    });
  });

  it('followed, reach what the scan does not reach otherwise', () => {
    const rules = { followSymlinks: true, exclude: ['dir'] };
    const listing = list('', rules);
    expect(skips(listing)['to-file']).toBeNull();
    expect(listing.subfolders.map(({ path }) => path)).toEqual([join(root, 'to-dir')]);
    expect(names(list('to-dir', rules))).toEqual(['to-dir/file']);
  });

  it('that lead back above themselves are loops', () => {
    symlinkSync('..', join(root, 'dir/back'));
    symlinkSync('.', join(root, 'dir/here'));
    expect(skips(list('dir', { followSymlinks: true, exclude: ['nothing'] }))).toMatchObject({
      'dir/back': 'symlink-loop',
      'dir/here': 'symlink-loop',
    });
  });

  it('that took the place of a folder are not entered', () => {
    rmSync(join(root, 'dir'), { recursive: true });
    symlinkSync('/etc', join(root, 'dir'));
    expect(lister().list(ref('dir'))).toMatchObject({ state: 'failed', error: 'ENOTDIR' });
    expect(lister({ followSymlinks: true }).list(ref('dir'))).toMatchObject({ state: 'failed' });
  });

  it.each(['.gitignore', 'secret'])(
    'that took the place of a folder above bring no %s from outside the root',
    (name) => {
      mkdirSync(join(folder.path, 'outside/sub'), { recursive: true });
      writeFileSync(join(folder.path, 'outside/sub', name), '*.txt');
      rmSync(join(root, 'dir'), { recursive: true });
      symlinkSync(join(folder.path, 'outside'), join(root, 'dir'));
      for (const followSymlinks of [false, true])
        expect(lister({ followSymlinks }).list(ref('dir/sub'))).toMatchObject({
          state: 'failed',
          error: 'EOUTSIDE',
        });
    },
  );
});

describe('listing again', () => {
  const again = (listing: Listed, rules: Partial<ListingRules> = {}) =>
    lister(rules).list(ref('', { digest: listing.digest, listedScanId: 1, identity: listing.identity }));

  it('says so when nothing changed, and counts all the same', () => {
    write('a', 'hello');
    mkdirSync(join(root, 'sub'));
    expect(again(list())).toMatchObject({ state: 'unchanged', counts: { files: 1, bytes: 5 } });
  });

  it.each<[string, () => void]>([
    ['a file was added', () => write('new')],
    ['a file was removed', () => rmSync(join(root, 'a'))],
    [
      'a file was replaced by one of the same size',
      () => {
        write('b', 'world');
        renameSync(join(root, 'b'), join(root, 'a'));
      },
    ],
    ['only its time changed', () => utimesSync(join(root, 'a'), 1, 1)],
    ['only its mode changed', () => chmodSync(join(root, 'a'), 0o600)],
    ['a folder was added', () => mkdirSync(join(root, 'sub'))],
    ['a rule now leaves it out', () => write('.gitignore', 'a\n')],
  ])('lists it when %s', (_, change) => {
    write('a', 'hello');
    const before = list();
    change();
    expect(again(before).state).toBe('listed');
  });

  it('lists it when other rules keep other files, and not when they keep the same', () => {
    write('a', 'hello');
    const before = list();
    expect(again(before, { exclude: ['a'] }).state).toBe('listed');
    expect(again(before, { exclude: ['b'] }).state).toBe('unchanged');
  });

  it('refuses to believe an empty folder on another device', () => {
    const known = { digest: null, listedScanId: 1, identity: '999999:2' };
    expect(lister().list(ref('', known))).toMatchObject({ state: 'failed', error: MOUNT_GONE });
    write('a');
    expect(lister().list(ref('', known)).state).toBe('listed');
  });
});

describe('a folder too large for one answer', () => {
  beforeEach(() => {
    for (let index = 0; index < 25; index++) write(`f${index}`);
    mkdirSync(join(root, 'sub'));
  });

  it('is handed over in chunks, every entry once', () => {
    const small = lister({}, 10);
    expect(small.list(ref())).toEqual({ state: 'large' });
    const chunks: ListingChunk[] = [];
    const end = small.stream(ref(), (chunk) => chunks.push(chunk));
    expect(end.state).toBe('listed');
    expect(chunks.map(({ files, subfolders }) => files.length + subfolders.length)).toEqual([10, 10, 6]);
    expect(new Set(chunks.flatMap(({ files }) => files.map(({ name }) => name))).size).toBe(25);
  });

  it('is passed over without a chunk when nothing changed', () => {
    const small = lister({}, 10);
    const end = small.stream(ref(), () => {});
    if (end.state !== 'listed') throw new Error(end.state);
    const known = { digest: end.digest, listedScanId: 1 };
    const chunks: ListingChunk[] = [];
    const second = small.stream(ref('', known), (chunk) => chunks.push(chunk));
    expect(second).toMatchObject({ state: 'unchanged', counts: { files: 25 } });
    expect(chunks).toEqual([]);
    write('f3', 'changed');
    expect(small.stream(ref('', known), (chunk) => chunks.push(chunk)).state).toBe('listed');
    expect(chunks).toHaveLength(3);
  });

  it('stops between chunks when the caller gave up', () => {
    const rules = { root: Buffer.from(root).toString('base64') };
    const giveUp = new FolderLister(
      {
        mode: 'all',
        include: [],
        exclude: [],
        maxFileBytes: 1,
        hidden: true,
        gitignore: true,
        followSymlinks: false,
        excludedIdentities: [],
        excludedPaths: [],
        ...rules,
      },
      {
        chunk: 10,
        checkpoint: () => {
          throw new Error('given up');
        },
      },
    );
    expect(() => giveUp.stream(ref(), () => {})).toThrow('given up');
  });
});
