import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { tempFolder, type TempFolder } from '#testing';
import { DataDirectory } from './data-directory.js';
import { Fleet } from './fleet.js';

describe('Fleet', () => {
  const nobody = new AbortController().signal;
  let folder: TempFolder;
  let data: DataDirectory;
  let fleet: Fleet;
  let atStart: () => Promise<Record<string, string>>;

  beforeEach(async () => {
    folder = await tempFolder('fleet');
    atStart = async () => ({});
    data = new DataDirectory(folder.path);
    await data.create();
    fleet = new Fleet({
      data,
      env: {},
      apps: [{ app: 'dlq-admin', atStart: () => atStart() }],
    });
  });

  afterEach(async () => {
    await fleet.stop();
    await folder.remove();
  });

  it('stopped before an app has told its port, it keeps nobody waiting for it', async () => {
    fleet.start();
    const port = fleet.portOf('dlq-admin', nobody);
    await fleet.stop();
    expect(await port).toBeUndefined();
  });

  it('stopped while a process is about to be started, it starts none', async () => {
    let decide: (env: Record<string, string>) => void = () => {};
    await new Promise<void>((asked) => {
      atStart = () => {
        asked();
        return new Promise((resolve) => (decide = resolve));
      };
      fleet.start();
    });
    await fleet.stop();
    decide({});
    await new Promise((resolve) => setImmediate(resolve));
    expect(existsSync(data.logFile('dlq-admin'))).toBe(false);
  });
});
