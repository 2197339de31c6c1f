import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tempFolder, type TempFolder } from '#testing';
import { SmallDisk, type MountedDisk } from './small-disk.js';

describe('a small disk', () => {
  let folder: TempFolder;
  let mounted: MountedDisk;

  beforeEach(async () => {
    folder = await tempFolder('disk');
    mounted = await SmallDisk.mount(join(folder.path, 'disk'), 1);
  });

  afterEach(async () => {
    if (mounted.state === 'mounted') await mounted.disk.unmount();
    await folder.remove();
  });

  it('takes nothing more when it is full, and again when it is freed; or it is said why there is none', async () => {
    if (mounted.state === 'refused') return expect(mounted.reason).not.toBe('');
    const { disk } = mounted;
    const write = (): void => writeFileSync(join(disk.path, 'file'), 'x');
    await disk.fill();
    expect(write).toThrow('ENOSPC');
    await disk.free();
    write();
    expect(readFileSync(join(disk.path, 'file'), 'utf8')).toBe('x');
  });

  it('cannot be mounted where there is no folder', async () => {
    writeFileSync(join(folder.path, 'file'), '');
    await expect(SmallDisk.mount(join(folder.path, 'file/below'), 1)).rejects.toMatchObject({
      code: 'ENOTDIR',
    });
  });
});
