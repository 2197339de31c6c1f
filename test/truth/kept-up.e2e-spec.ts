import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { eventually, type Child } from '#testing';
import { World } from './world.js';

describe('runs that are kept up', () => {
  let world: World;
  const runs: Child[] = [];
  const data = (name: string): string[] => ['--data', world.at(`data-${name}`)];
  const fleetOf = async (name: string): Promise<{ adminUrl: string; adminKey: string }> =>
    JSON.parse(await readFile(world.at(`data-${name}`, 'run.json'), 'utf8')) as never;

  beforeAll(async () => {
    world = await World.open({ 'a.txt': 'a' });
    for (const name of ['one', 'two'])
      runs.push(world.start([...data(name), 'run', world.tree, '--out', world.at(`out-${name}`), '--keep']));
    for (const run of runs) await run.output('Services stay up', 90_000);
  }, 120_000);
  afterAll(() => world.close());

  it('each say where they really are, though they began at once', async () => {
    const urls = runs.map(({ stderr }) => /Dead letters: (http:\/\/127\.0\.0\.1:\d+)/.exec(stderr)?.[1]);
    expect(urls).toEqual([(await fleetOf('one')).adminUrl, (await fleetOf('two')).adminUrl]);
    expect(new Set(urls).size).toBe(2);
    for (const name of ['one', 'two']) {
      const asked = await world.millrace([...data(name), 'dlq', 'stats']);
      expect(asked.stderr).toContain(world.at(`out-${name}`));
      expect(asked.code).toBe(0);
    }
  }, 60_000);

  it('are strangers to each other: a client refuses the dlq-admin of another pipeline', async () => {
    const { adminUrl, adminKey } = await fleetOf('two');
    const asked = await world.millrace([...data('one'), 'dlq', 'stats', '--url', adminUrl], {
      MILLRACE_DLQ_API_KEY: adminKey,
    });
    expect(asked.stderr).toMatch(/the dlq-admin that answers serves Pipeline .*out-two.*, not .*out-one/);
    expect(asked).toMatchObject({ code: 5, stdout: '' });
  }, 60_000);

  it('end with a word and no success when a service dies again and again', async () => {
    expect((await runs[1]?.end('SIGINT', 60_000))?.code).toBe(0);
    const [run] = runs as [Child];
    await eventually(
      async () => {
        const pid = await world.findPid('worker');
        if (pid !== undefined) process.kill(pid, 'SIGKILL');
        expect(run.running).toBe(false);
      },
      { timeoutMs: 90_000 },
    );
    expect((await run.exited).code).not.toBe(0);
    expect(run.stderr).toMatch(/worker was killed by SIGKILL/);
  }, 120_000);
});
