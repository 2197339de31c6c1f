import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NotRunHere, tempFolder, type TempFolder } from '#testing';
import { faultCode } from './fs-faults.js';
import { hashOf, OpenFile, OpenFolder, type FilePlace } from './open-file.js';
import { pathText } from './path.js';

let folder: TempFolder;
let root: string;
beforeEach(async () => {
  folder = await tempFolder('open');
  root = join(folder.path, 'root');
  mkdirSync(join(root, 'sub'), { recursive: true });
  mkdirSync(join(folder.path, 'outside'));
  writeFileSync(join(root, 'sub/file'), 'of the tree');
  writeFileSync(join(folder.path, 'outside/file'), 'SECRET');
});
afterEach(() => folder.remove());

const placeOf = (path: string | Buffer, followLinks = false): FilePlace => ({
  root: { text: root, bytes: null },
  path: pathText(path),
  followLinks,
});
const text = (file: OpenFile): string =>
  Buffer.concat([...file.chunks()].map((chunk) => Buffer.from(chunk))).toString();
const outcomeBy = (place: FilePlace, neighbours?: OpenFolder): string => {
  try {
    return OpenFile.use(place, text, { ...(neighbours && { folder: neighbours }) });
  } catch (error) {
    return faultCode(error);
  }
};
const alone = (path: string | Buffer, followLinks = false): string => outcomeBy(placeOf(path, followLinks));
/** What is opened second is opened through the folder of the first. */
const amongNeighbours = (path: string | Buffer, followLinks = false): string => {
  const neighbours = new OpenFolder();
  try {
    outcomeBy(placeOf(path, followLinks), neighbours);
    return outcomeBy(placeOf(path, followLinks), neighbours);
  } finally {
    neighbours.close();
  }
};

describe('opening files of one folder', () => {
  it('reads them from the folder that was there at the first, whatever is put in its place', () => {
    writeFileSync(join(root, 'sub/second'), 'of the tree, too');
    writeFileSync(join(folder.path, 'outside/second'), 'SECRET');
    const neighbours = new OpenFolder();
    expect(outcomeBy(placeOf(join(root, 'sub/file')), neighbours)).toBe('of the tree');
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(join(folder.path, 'outside'), join(root, 'sub'));
    expect(outcomeBy(placeOf(join(root, 'sub/second')), neighbours)).toBe('of the tree, too');
    neighbours.close();
    expect(outcomeBy(placeOf(join(root, 'sub/second')), neighbours)).toBe('EOUTSIDE');
  });

  it('goes from folder to folder and root to root, and is asked for each', () => {
    writeFileSync(join(root, 'file'), 'of the root');
    const neighbours = new OpenFolder();
    const other = { text: join(root, 'sub'), bytes: null };
    expect(outcomeBy(placeOf(join(root, 'file')), neighbours)).toBe('of the root');
    expect(outcomeBy({ ...placeOf(join(root, 'file')), root: other }, neighbours)).toBe('EOUTSIDE');
    expect(outcomeBy({ ...placeOf(join(root, 'sub/file')), root: other }, neighbours)).toBe('of the tree');
    expect(outcomeBy(placeOf(join(root, 'sub/none')), neighbours)).toBe('ENOENT');
    expect(outcomeBy(placeOf(join(root, 'sub/file')), neighbours)).toBe('of the tree');
    neighbours.close();
  });
});

describe.each([
  ['alone', alone],
  ['among its neighbours', amongNeighbours],
])('opening a file %s', (_, outcome) => {
  it('reads it whatever its name, and tells its hash', () => {
    expect(outcome(join(root, 'sub/file'))).toBe('of the tree');
    const odd = Buffer.concat([Buffer.from(`${root}/x`), Buffer.from([0xff])]);
    writeFileSync(odd, 'odd');
    expect(outcome(odd)).toBe('odd');
    expect(OpenFile.use(placeOf(odd), (file) => hashOf(file, 'sha512'))).toBe(
      createHash('sha512').update('odd').digest('hex'),
    );
  });

  it('refuses what is no regular file, without waiting for it', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    symlinkSync('sub/file', join(root, 'link'));
    const server = createServer().listen(join(root, 'socket'));
    await once(server, 'listening');
    expect(['pipe', 'sub', 'socket'].map((name) => outcome(join(root, name)))).toEqual(
      Array(3).fill('ENOTREG'),
    );
    expect(outcome(join(root, 'link'))).toBe('ELOOP');
    server.close();
    await once(server, 'close');
  });

  it('refuses what lies outside the root, however it is named', () => {
    expect(outcome(join(folder.path, 'outside/file'))).toBe('EOUTSIDE');
    expect(outcome(`${root}/../outside/file`)).toBe('EOUTSIDE');
    expect(outcome(`${root}-beside`)).toBe('EOUTSIDE');
  });

  it('refuses a file whose folder became a link, inside the root too', () => {
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(join(folder.path, 'outside'), join(root, 'sub'));
    expect(outcome(join(root, 'sub/file'))).toBe('EOUTSIDE');
    symlinkSync('moved', join(root, 'alias'));
    expect(outcome(join(root, 'alias/file'))).toBe('EOUTSIDE');
  });

  it('follows links where the scan did, and never out of the root', () => {
    symlinkSync('sub', join(root, 'alias'));
    symlinkSync('alias/file', join(root, 'link'));
    symlinkSync(join(folder.path, 'outside'), join(root, 'out'));
    expect(outcome(join(root, 'link'), true)).toBe('of the tree');
    expect(outcome(join(root, 'alias/file'), true)).toBe('of the tree');
    expect(outcome(join(root, 'out/file'), true)).toBe('EOUTSIDE');
  });

  it('takes a hard link for the file that it is', () => {
    linkSync(join(root, 'sub/file'), join(root, 'twin'));
    expect(outcome(join(root, 'twin'))).toBe('of the tree');
  });

  it('never reads from outside while another user swaps the folder above it', async () => {
    if (process.getuid?.() !== 0) throw new NotRunHere('only root can run a second user');
    chmodSync(folder.path, 0o755);
    // The swapper may rename in the root and make links; it could not read what they lead to.
    chownSync(root, 65_534, 65_534);
    chownSync(join(root, 'sub'), 65_534, 65_534);
    chmodSync(join(folder.path, 'outside'), 0o700);
    const swapper = spawn(process.execPath, ['-e', SWAPPER, root, join(folder.path, 'outside')], {
      uid: 65_534,
      gid: 65_534,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(swapper, 'close');
    await once(swapper.stdout, 'data');
    const seen = new Map<string, number>();
    while (swapper.exitCode === null && swapper.signalCode === null) {
      for (let n = 0; n < 200; n++) {
        const got = outcome(join(root, 'sub/file'));
        seen.set(got, (seen.get(got) ?? 0) + 1);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended).toEqual([0, null]);
    expect(seen.has('SECRET')).toBe(false);
    expect(seen.get('EOUTSIDE') ?? 0).toBeGreaterThan(0);
    expect(seen.get('of the tree') ?? 0).toBeGreaterThan(0);
  });
});

const SWAPPER = `
  const fs = require('node:fs');
  const [root, outside] = process.argv.slice(1);
  process.chdir(root);
  console.log('swapping');
  for (let n = 0; n < 1000; n++) {
    fs.renameSync('sub', 'aside');
    fs.symlinkSync(outside, 'sub');
    for (let spin = 0; spin < 200; spin++) fs.lstatSync('sub');
    fs.unlinkSync('sub');
    fs.renameSync('aside', 'sub');
    for (let spin = 0; spin < 200; spin++) fs.lstatSync('sub');
  }`;
