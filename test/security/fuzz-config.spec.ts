import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, keysOf, loadConfig, printable, type ConfigGroups, type KeySpec } from '#config';
import { Random, tempFolder, type TempFolder } from '#testing';
import { apps } from '../../apps/configurations.js';
import { cpuSeconds, hostileText, hostileValue, seed } from './hostile.js';

const ROUNDS = 300;

/** Keys that several apps have are the same keys, and are given what has no end once. */
const tried = new Set<KeySpec>();

/** Whatever the environment and the files hold, an app has a configuration or says what is wrong with them, at once. */
describe.each(Object.entries(apps))(
  `the configuration of %s under fuzz (MILLRACE_SEED=${seed})`,
  (app, load) => {
    const random = new Random(seed);
    let folder: TempFolder;
    let groups: ConfigGroups;
    let keys: KeySpec[];
    beforeAll(async () => {
      folder = await tempFolder('fuzz-config');
      groups = await load();
      keys = Object.values(groups).flatMap(keysOf);
    });
    afterAll(() => folder.remove());

    const read = (env: Record<string, string>, cwd = '/nonexistent'): string => {
      try {
        return JSON.stringify(printable(groups, loadConfig(groups, { env, cwd }))) && 'read';
      } catch (error) {
        if (error instanceof ConfigError) return 'refused';
        throw new Error(`seed ${seed}, ${app}: ${JSON.stringify(env).slice(0, 500)}`, { cause: error });
      }
    };
    const names = (): string[] => Array.from({ length: random.between(1, 4) }, () => random.pick(keys).name);

    it('reads or refuses any environment', () => {
      const outcomes = Array.from({ length: ROUNDS }, () =>
        read(Object.fromEntries(names().map((name) => [name, hostileText(random)]))),
      );
      expect(new Set(outcomes).has('refused')).toBe(true);
    });

    it('reads or refuses any config.json and any .env', () => {
      const outcomes = Array.from({ length: ROUNDS / 3 }, () => {
        writeFileSync(join(folder.path, 'config.json'), fileText(random, names()));
        writeFileSync(join(folder.path, '.env'), `${random.pick(names())}=${hostileText(random)}\n`);
        return read({}, folder.path);
      });
      expect(new Set(outcomes).has('refused')).toBe(true);
    });

    it('takes less than a second for a value, or a key, without end', async () => {
      for (const key of keys.filter((one) => !tried.has(one))) {
        tried.add(key);
        for (const unit of [',', '{,', '[', '@', '?', 'a/', '*,']) {
          const { name } = key;
          const spent = await cpuSeconds(() => read({ [name]: unit.repeat(100_000 / unit.length) }));
          expect([name, unit, spent < 1]).toEqual([name, unit, true]);
        }
      }
      writeFileSync(join(folder.path, '.env'), '');
      writeFileSync(join(folder.path, 'config.json'), JSON.stringify({ ['A'.repeat(100_000)]: 1 }));
      expect(await cpuSeconds(() => read({}, folder.path))).toBeLessThan(1);
    });
  },
);

function fileText(random: Random, names: readonly string[]): string {
  const text = JSON.stringify(hostileValue(random, names)) ?? '';
  return random.next() < 0.2 ? text.slice(0, text.length / 2) : text;
}
