import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnBuilt, tempFolder, type Child, type TempFolder } from '#testing';
import { CliHost, type CliResult } from './cli-host.js';

interface Duplicates {
  totals: { groups: number; waste: number };
  groups: { size: number; copies: number; waste: number; paths: string[] }[];
}

/** What other commands find out about a run that is kept up, from its data directory alone. */
describe('beside a run that is kept up', () => {
  let folder: TempFolder;
  let run: Child;
  let host: CliHost;

  const start = (...args: string[]): Child =>
    spawnBuilt('apps/cli/src/main', ['--data', join(folder.path, 'data'), ...args]);
  const ended = (...args: string[]): Promise<CliResult> =>
    host.run(['--data', join(folder.path, 'data'), ...args]);

  beforeAll(async () => {
    folder = await tempFolder('cli-data');
    host = new CliHost();
    const tree = join(folder.path, 'tree');
    await mkdir(join(tree, 'sub'), { recursive: true });
    await writeFile(join(tree, 'small.txt'), 'twice\n');
    await writeFile(join(tree, 'sub/small again.txt'), 'twice\n');
    for (const name of ['large.txt', 'sub/large.txt', 'sub/\u001b[2Jlarge.txt'])
      await writeFile(join(tree, name), 'three times\n'.repeat(500));
    await writeFile(join(tree, 'single.txt'), 'once\n');
    run = start('run', tree, '--out', join(folder.path, 'out'), '--keep');
    await run.output('Services stay up', 180_000);
  }, 240_000);
  afterAll(async () => {
    await host.stop();
    const { code } = await run.end('SIGINT', 60_000);
    await folder.remove();
    expect(code).toBe(0);
  }, 90_000);

  it('millrace dlq finds its dlq-admin without being told where', async () => {
    const stats = await ended('dlq', 'stats', '-o', 'json');
    expect(stats.code).toBe(0);
    expect(JSON.parse(stats.stdout)).toMatchObject({ open: 0, deadEvents: 0 });
    const [, url, code] =
      /Dead letters: (http:\/\/127\.0\.0\.1:\d+)\/#code=([\w-]{43})/.exec(run.stderr) ?? [];
    const signIn = (secret: object): Promise<Response> =>
      fetch(`${url}/api/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(secret),
      });
    expect((await fetch(`${url}/api/v1/stats`)).status).toBe(401);
    expect([(await signIn({ code })).status, (await signIn({ code })).status]).toEqual([200, 401]);
    const another = await ended('dlq', 'link');
    expect((await signIn({ code: another.stdout.trim().split('#code=')[1] })).status).toBe(200);
    expect((await stat(join(folder.path, 'data', 'run.json'))).mode & 0o777).toBe(0o600);
  }, 60_000);

  it('millrace duplicates lists equal files, largest waste first', async () => {
    const [all, large, table] = await Promise.all([
      ended('duplicates', '-o', 'json'),
      ended('duplicates', '-o', 'json', '--min-size', '1k'),
      ended('duplicates', '--limit', '1'),
    ]);
    const { totals, groups } = JSON.parse(all.stdout) as Duplicates;
    expect(totals).toMatchObject({ groups: 2, waste: 2 * 6_000 + 6 });
    expect(groups.map(({ size, copies, waste }) => [size, copies, waste])).toEqual([
      [6_000, 3, 12_000],
      [6, 2, 6],
    ]);
    expect(groups[1]?.paths.map((path) => path.split('/').at(-1)).sort()).toEqual([
      'small again.txt',
      'small.txt',
    ]);
    expect((JSON.parse(large.stdout) as Duplicates).groups).toHaveLength(1);
    expect(table.stdout).toContain('12.0 kB wasted: 3 copies of 6.0 kB');
    expect(table.stdout).toContain('sub/\\u001b[2Jlarge.txt');
    expect(table.stdout).toContain('2 groups, the first 1 shown');
    expect((all.stdout + table.stdout).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  }, 60_000);

  it('a key made in the database is needed at once by its dlq-admin', async () => {
    const made = await ended(
      'keys',
      'create',
      '--role',
      'operator',
      '--queues',
      'a,b',
      '--expires-days',
      '1',
    );
    expect(made.stdout).toMatch(/^mr_[0-9a-f]{12}_[\w-]{43}\n$/);
    const id = made.stdout.slice(3, 15);
    const successor = await ended('keys', 'create', '--role', 'admin', '--replaces', id, '-o', 'json');
    expect(JSON.parse(successor.stdout)).toMatchObject({ role: 'admin', replaces: id });
    expect(await ended('keys', 'create', '--role', 'admin', '--replaces', '000000000000')).toMatchObject({
      code: 66,
      stderr: expect.stringContaining('there is no key'),
    });
    const { key } = JSON.parse(successor.stdout) as { key: string };
    const child = spawnBuilt('apps/cli/src/main', ['--data', join(folder.path, 'data'), 'dlq', 'audit'], {
      MILLRACE_DLQ_API_KEY: key,
    });
    expect((await child.exited).code).toBe(0);
    expect(child.stdout).toMatch(/command line[^]*key\.create/);
    expect((await ended('keys', 'list')).stdout).toMatch(new RegExp(`${id} +operator +usable +unnamed +a,b`));
  }, 120_000);

  it('where there is no database, duplicates and keys say so with 66', async () => {
    const nowhere = ['--data', join(folder.path, 'nowhere')];
    for (const words of [['duplicates'], ['keys', 'list'], ['keys', 'revoke', '0123456789ab']]) {
      const child = spawnBuilt('apps/cli/src/main', [...nowhere, ...words]);
      expect((await child.exited).code).toBe(66);
      expect(child.stderr).toContain('there is no database');
    }
  }, 60_000);
});
