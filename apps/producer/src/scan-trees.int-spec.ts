import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tempFolder, type TempFolder } from '#testing';
import { ScanRig } from './scan.fixture.js';

describe('trees that bite', () => {
  let folder: TempFolder;
  let rig: ScanRig;
  let root: string;
  const many = process.env.MILLRACE_TORTURE === 'full' ? 100_000 : 5_000;

  beforeAll(async () => {
    folder = await tempFolder('bite');
    root = join(folder.path, 'root');
    mkdirSync(root);
    rig = await ScanRig.start('sqlite');
  });
  afterAll(async () => {
    await rig.stop();
    await folder.remove();
  });

  it('many files in one folder, on the first scan and on the second', async () => {
    mkdirSync(join(root, 'many'));
    for (let index = 0; index < many; index++) writeFileSync(join(root, 'many', `f${index}`), '');
    const first = await rig.scan(root);
    expect(first.summary).toMatchObject({ files: many, created: many, enqueued: many });
    const second = await rig.scan(root);
    expect(second.summary).toMatchObject({
      unchanged: many,
      created: 0,
      changed: 0,
      enqueued: 0,
      removed: 0,
    });
    appendFileSync(join(root, 'many', 'f7'), 'x');
    rmSync(join(root, 'many', 'f8'));
    const third = await rig.scan(root);
    expect(third.summary).toMatchObject({ unchanged: many - 2, changed: 1, removed: 1, enqueued: 1 });
  }, 240_000);

  it('a thousand folders one in the other, and deeper than a path can be', async () => {
    const deep = join(root, 'deep');
    mkdirSync(deep);
    // Deeper than PATH_MAX: only a change of directory reaches it.
    execFileSync('python3', ['-c', DEEP, deep, '1100']);
    writeFileSync(join(deep, 'ddd/'.repeat(950), 'bottom'), 'x');
    const { summary } = await rig.scan(root, { EXCLUDE: 'many', ALLOW_MASS_REMOVAL: 'true' });
    const rows = await rig.query<{ path: string }>(`SELECT path FROM files WHERE path LIKE '%/bottom'`);
    expect(rows).toHaveLength(1);
    expect(summary.errorCodes).toEqual({ ENAMETOOLONG: 1 });
    expect(summary.folders).toBeGreaterThan(1000);
    execFileSync('rm', ['-rf', deep]);
  }, 120_000);

  it('files and folders that come and go while they are scanned', async () => {
    for (let index = 0; index < 60; index++) {
      mkdirSync(join(root, `live${index}`));
      for (let file = 0; file < 20; file++) writeFileSync(join(root, `live${index}`, `f${file}`), 'x');
    }
    const scan = rig.scan(root, { EXCLUDE: 'many', ALLOW_MASS_REMOVAL: 'true' });
    for (let index = 0; index < 60; index += 3) {
      rmSync(join(root, `live${index}`), { recursive: true });
      renameSync(join(root, `live${index + 1}`, 'f0'), join(root, `live${index + 1}`, 'renamed'));
      appendFileSync(join(root, `live${index + 2}`, 'f0'), 'more');
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await scan).outcome).toBe('completed');
    const settled = await rig.scan(root, { EXCLUDE: 'many' });
    const there = execFileSync('find', [
      root,
      '-path',
      join(root, 'many'),
      '-prune',
      '-o',
      '-type',
      'f',
      '-print',
    ])
      .toString()
      .split('\n')
      .filter(Boolean);
    const rows = await rig.query<{ path: string }>('SELECT path FROM files WHERE removed = 0');
    expect(rows.map(({ path }) => path).sort()).toEqual(there.sort());
    expect(settled.outcome).toBe('completed');
  }, 60_000);
});

const DEEP = `
import os, sys
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir('ddd')
    os.chdir('ddd')
`;
