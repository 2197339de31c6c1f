import { describe, expect } from '@jest/globals';
import { readdir, rm } from 'node:fs/promises';
import { eventually, testDatabase } from '#testing';
import { manyFiles, truth } from './truth.js';
import { outcomeOf, type World } from './world.js';

const B = { 'b1.txt': 'of B', 'b2.txt': 'of B, too' };

/** A run that is killed when some, not all, of its batches are written. */
async function killHalfway(world: World, args: readonly string[]): Promise<void> {
  const child = world.start(args);
  await eventually(async () => expect((await readdir(world.out)).length).toBeGreaterThan(2), {
    timeoutMs: 120_000,
  });
  await child.end('SIGKILL');
}

async function otherRoot(world: World): Promise<string[]> {
  await world.write(B, 'B');
  return ['-o', 'json', 'run', world.at('B'), '--out', world.at('outB'), '--format', 'jsonl'];
}

describe('whose work it is', () => {
  const A = manyFiles(60, 2_000);

  truth(
    'another destination on the data of an interrupted run is refused, and the first goes on and is whole',
    {
      tree: A,
      disturb: async (world) => {
        const data = ['--data', world.at('data')];
        const first = [...data, ...world.runArguments('--max-tokens', '1000')];
        await killHalfway(world, first);
        const other = await world.millrace([...data, ...(await otherRoot(world))]);
        expect(other.code).toBe(78);
        expect(other.stderr).toMatch(/delivers to .*\/out \(jsonl\).*configured for .*outB.*--move-to/);
        expect(await world.delivered(world.at('outB'))).toEqual([]);
        return world.millrace(first);
      },
      verdict: 'PROVEN',
      delivered: Object.keys(A),
    },
  );

  truth(
    'two destinations in one folder are two pipelines; commands speak of the last used and name the other',
    {
      tree: { 'a.txt': 'of A' },
      disturb: async (world) => {
        await world.run();
        const other = await world.millrace(await otherRoot(world));
        expect(other.verdict).toBe('PROVEN');
        expect(await world.delivered(world.at('outB'))).toEqual(Object.keys(B));
        return world.millrace(['verify']);
      },
      verdict: 'PROVEN',
      says: /Pipeline \w{8} → .*outB \(jsonl\)[^]*Other pipelines here[^]*--data \.millrace\/out-\w+ → .*\/out \(jsonl\)/,
      delivered: ['a.txt'],
    },
  );

  truth('a pipeline moves only when told so, which is audited; --fresh delivers everything again', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const data = ['--data', world.at('data')];
      await world.millrace([...data, ...world.runArguments()]);
      const moved = await world.millrace([...data, 'pipeline', '--move-to', world.at('moved')]);
      expect(moved.stdout).toContain(world.at('moved'));
      expect((await world.millrace([...data, ...world.runArguments()])).code).toBe(78);
      const there = [
        ...data,
        '-o',
        'json',
        'run',
        world.tree,
        '--out',
        world.at('moved'),
        '--format',
        'jsonl',
      ];
      expect((await world.millrace(there)).verdict).toBe('PROVEN');
      expect(await world.delivered(world.at('moved'))).toEqual([]);
      const fresh = await world.millrace([...there, '--fresh']);
      expect(await world.delivered(world.at('moved'))).toEqual(['a.txt']);
      return fresh;
    },
    verdict: 'PROVEN',
  });

  truth('two runs at once on one PostgreSQL: the second is refused, and gets a schema of its own', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const { url, remove } = await testDatabase('postgres');
      world.whenDone(remove);
      const other = await otherRoot(world);
      const on = (databaseUrl: string): Record<string, string> => ({ MILLRACE_DATABASE_URL: databaseUrl });
      const both = [
        world.start(['--data', world.at('dA'), ...world.runArguments()], on(url)),
        world.start(['--data', world.at('dB'), ...other], on(url)),
      ];
      const [one, two] = [await outcomeOf(both[0]!), await outcomeOf(both[1]!)];
      expect([one.code, two.code].sort()).toEqual([0, 78]);
      expect(`${one.stderr}${two.stderr}`).toMatch(/\?schema=/);
      await world.millrace(['--data', world.at('dA'), ...world.runArguments()], on(`${url}?schema=a`));
      const last = await world.millrace(['--data', world.at('dB'), ...other], on(`${url}?schema=b`));
      expect(new Set(await world.delivered(world.at('outB')))).toEqual(new Set(Object.keys(B)));
      return last;
    },
    verdict: 'PROVEN',
  });

  truth('jobs of another pipeline on the same Redis, or of one whose database was deleted, are never met', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const redis = world.sharedRedis();
      const other = await otherRoot(world);
      expect((await world.millrace(['--data', world.at('dA'), 'scan', world.tree], redis)).code).toBe(0);
      expect((await world.millrace(['--data', world.at('dB'), ...other], redis)).verdict).toBe('PROVEN');
      expect(await world.delivered(world.at('outB'))).toEqual(Object.keys(B));
      await world.millrace(['--data', world.at('dC'), 'scan', world.at('B')]);
      for (const suffix of ['', '-wal', '-shm'])
        await rm(world.at('dC', `millrace.db${suffix}`), { force: true });
      return world.millrace(['--data', world.at('dC'), ...world.runArguments()]);
    },
    verdict: 'PROVEN',
    delivered: ['a.txt'],
  });
});
