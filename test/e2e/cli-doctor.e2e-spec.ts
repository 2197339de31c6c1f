import { describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { freePort, sharedRedis, startRedis } from '#testing';
import { VERSION } from '#service';
import { useRunRig } from './run-rig.js';

interface Finding {
  check: string;
  ok: boolean;
  found: string;
}

describe('millrace doctor', () => {
  const rig = useRunRig();

  async function findings(env: NodeJS.ProcessEnv, ...args: string[]): Promise<[number | null, Finding[]]> {
    const child = rig.millrace(['-o', 'json', 'doctor', ...args], env);
    const { code } = await child.exited;
    return [code, JSON.parse(child.stdout) as Finding[]];
  }
  const missing = (all: Finding[]): Finding[] => all.filter(({ ok }) => !ok);

  it('finds nothing missing where a run would succeed', async () => {
    const [code, all] = await findings({ MILLRACE_REDIS_URL: sharedRedis().url }, rig.tree);
    expect(missing(all)).toEqual([]);
    expect(all).toHaveLength(7);
    expect(code).toBe(0);
  });

  it('names each thing that is missing with its cure, and ends with 69', async () => {
    const port = await freePort();
    const env = {
      MILLRACE_REDIS_URL: `redis://127.0.0.1:${port}`,
      MILLRACE_DATABASE_URL: `postgres://127.0.0.1:${port}/none`,
    };
    const [code, all] = await findings(env, join(rig.tree, 'nowhere'));
    expect(missing(all)).toEqual([
      { check: 'redis', ok: false, found: expect.stringMatching(/correct MILLRACE_REDIS_URL/) },
      { check: 'database', ok: false, found: expect.stringMatching(/check DATABASE_URL/) },
      { check: 'directory', ok: false, found: expect.stringMatching(/nowhere \(ENOENT\)/) },
    ]);
    expect(code).toBe(69);
  });

  it('finds that there is no Redis at all, and one that may evict', async () => {
    const [, none] = await findings({ PATH: '/nowhere' });
    expect(missing(none)).toMatchObject([
      { check: 'redis', found: expect.stringMatching(/apt-get install/) },
    ]);
    const redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const [, evicting] = await findings({ MILLRACE_REDIS_URL: redis.url });
    await redis.stop();
    expect(missing(evicting)).toMatchObject([{ check: 'redis', found: expect.stringMatching(/noeviction/) }]);
  });

  it('has a version to show beside its findings', async () => {
    const child = rig.millrace(['--version']);
    expect(await child.exited).toMatchObject({ code: 0 });
    expect(child.stdout).toBe(`${VERSION}\n`);
  });
});
