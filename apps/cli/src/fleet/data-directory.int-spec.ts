import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempFolder, type TempFolder } from '#testing';
import { DataDirectory } from './data-directory.js';

describe('a data directory', () => {
  let folder: TempFolder;
  const fleet = { pid: process.pid, redisUrl: 'redis://h', databaseUrl: 'sqlite:x' };
  const open = async (): Promise<DataDirectory> => {
    const data = new DataDirectory(folder.path);
    await data.create();
    return data;
  };
  beforeEach(async () => {
    folder = await tempFolder('data');
  });
  afterEach(() => folder.remove());

  it('is taken by one of several that come at once', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, open));
    const claims = await Promise.allSettled(all.map((data) => data.claim()));
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await Promise.all(all.map((data) => data.release()));
    const next = await open();
    expect(await next.claim()).toEqual({ cleanStart: true });
    await next.release();
  });

  it('is free when its owner died, though its process id is in use again, and tells that the end was not in order', async () => {
    const data = await open();
    await writeFile(join(folder.path, 'run.json'), JSON.stringify(fleet));
    expect(await data.running()).toBeUndefined();
    expect(await data.claim()).toEqual({ cleanStart: false });
    await data.release();
  });

  it('tells who runs on it for as long as somebody does', async () => {
    const [owner, other] = [await open(), await open()];
    await owner.claim();
    await owner.tell(fleet);
    expect(await other.running()).toEqual(fleet);
    await expect(other.claim()).rejects.toThrow(`another millrace run (process ${process.pid})`);
    await owner.release();
    expect(await other.running()).toBeUndefined();
  });
});
