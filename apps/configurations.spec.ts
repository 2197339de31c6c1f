import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keysOf, loadSharedConfig, type ConfigError, type ConfigGroups } from '#config';
import { PROJECT_ROOT, tempFolder, type TempFolder } from '#testing';
import { apps } from './configurations.js';

describe('the table of configurations', () => {
  it('names every app that has one', () => {
    const folder = join(PROJECT_ROOT, 'apps');
    const configured = readdirSync(folder).filter((app) =>
      existsSync(join(folder, app, `src/${app}.config.ts`)),
    );
    expect(Object.keys(apps).sort()).toEqual(configured.sort());
  });
});

describe.each(Object.entries(apps).filter(([name]) => name !== 'cli'))('%s', (_name, app) => {
  it('must be told where Redis and the database are', async () => {
    const loaded = loadSharedConfig(await app(), { env: {}, cwd: '/nonexistent' }, apps);
    await expect(loaded).rejects.toThrow(/REDIS_URL: missing; must be given/);
    await expect(loaded).rejects.toThrow(/DATABASE_URL: missing; must be given/);
  });
});

describe.each(Object.entries(apps))('%s, on a JSON file for all apps', (_name, app) => {
  let folder: TempFolder;

  beforeEach(async () => {
    folder = await tempFolder('shared-config');
  });

  afterEach(() => folder.remove());

  const unknownKeys = async (keys: readonly string[]): Promise<string[]> => {
    const json = Object.fromEntries(keys.map((key) => [key, null]));
    await writeFile(join(folder.path, 'config.json'), JSON.stringify(json));
    const loaded = loadSharedConfig(await app(), { env: {}, cwd: folder.path }, apps);
    const refusal = await loaded.then(
      () => undefined,
      (error: unknown) => error as ConfigError,
    );
    if (refusal && !refusal.faults) throw refusal;
    return (refusal?.faults ?? []).filter(({ found }) => found === 'an unknown key').map(({ key }) => key);
  };

  it('knows the keys of every app, and no other', async () => {
    const all: ConfigGroups[] = await Promise.all(Object.values(apps).map((load) => load()));
    const specs = all.flatMap((groups) => Object.values(groups)).flatMap(keysOf);
    const secrets = specs.filter(({ secret }) => secret).map(({ name }) => `${name}_FILE`);
    expect(await unknownKeys([...specs.map(({ name }) => name), ...secrets, 'LOG_LEVL'])).toEqual([
      'LOG_LEVL',
    ]);
  });
});
