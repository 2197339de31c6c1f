import { describe, expect } from '@jest/globals';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { Database, queryRows } from '#database';
import { Metrics, silentLogger } from '#service';
import { eventually, emptyDatabase } from '#testing';
import { manyFiles, truth } from './truth.js';
import { outcomeOf, type Outcome, type World } from './world.js';

const B = { 'b1.txt': 'of B', 'b2.txt': 'of B, too' };

/** A run that is killed when some, not all, of its batches are written. */
async function killHalfway(world: World, args: readonly string[]): Promise<void> {
  const child = world.start(args);
  await eventually(async () => expect((await readdir(world.out)).length).toBeGreaterThan(2), {
    timeoutMs: 120_000,
  });
  await child.end('SIGKILL');
}

async function audited(world: World): Promise<object[]> {
  const url = `sqlite:${world.at('data', 'millrace.db')}`;
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics(), migrations: 'check' });
  await database.start();
  try {
    const rows = await database.read((manager) =>
      queryRows<{ action: string; before: string; after: string }>(
        manager,
        'SELECT action, before, after FROM audit_log ORDER BY id',
      ),
    );
    return rows.map(({ action, before, after }) => ({
      action,
      before: JSON.parse(before) as object,
      after: JSON.parse(after) as object,
    }));
  } finally {
    await database.stop();
  }
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
      expect(await audited(world)).toEqual([
        {
          action: 'pipeline.move',
          before: expect.objectContaining({ address: world.out }),
          after: expect.objectContaining({ address: world.at('moved') }),
        },
      ]);
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
      const smaller = await world.millrace([...there, '--max-tokens', '2000', '--encoding', 'cl100k_base']);
      expect(smaller.verdict).toBe('PROVEN');
      expect(smaller.stderr).toMatch(
        /Batches hold 2,000 tokens from now on; those made before hold 100,000\./,
      );
      expect(smaller.stderr).toMatch(/Tokens are counted with .*cl100k_base.* from now on; .*o200k_base/);
      expect(await world.delivered(world.at('moved'))).toEqual([]);
      const fresh = await world.millrace([...there, '--fresh']);
      expect(await world.delivered(world.at('moved'))).toEqual(['a.txt']);
      return fresh;
    },
    verdict: 'PROVEN',
  });

  truth('a folder that moved is looked at where it is now; what stayed behind, where it was', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const data = ['--data', world.at('data')];
      const deep = (): Promise<Outcome> => world.millrace([...data, 'verify', '--deep']);
      const moveTo = (name: string): Promise<Outcome> =>
        world.millrace([...data, 'pipeline', '--move-to', world.at(name)]);
      await world.millrace([...data, ...world.runArguments()]);
      await moveTo('later');
      expect((await deep()).verdict).toBe('PROVEN');
      await rename(world.out, world.at('moved'));
      expect((await deep()).stdout).toMatch(/was written to .*\/out, not to .*\/later[^]*\nVIOLATED/);
      await moveTo('moved');
      const proven = await world.millrace([...data, 'verify', '--deep', '--proof', world.at('proof')]);
      expect(await readdir(world.at('proof/data'))).toHaveLength(1);
      return proven;
    },
    verdict: 'PROVEN',
  });

  truth('the manifest of an output lists the batches that lie in it, not those of an output before', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const run = (out: string): Promise<Outcome> =>
        world.millrace(['--data', world.at('data'), 'run', world.tree, '--out', world.at(out)]);
      await run('out');
      await world.millrace(['--data', world.at('data'), 'pipeline', '--move-to', world.at('moved')]);
      await world.write(B);
      await run('moved');
      const { batches } = JSON.parse(await readFile(world.at('moved/manifest.json'), 'utf8')) as {
        batches: { file: string }[];
      };
      const there = (await readdir(world.at('moved'))).filter((name) => name.startsWith('batch-'));
      expect(batches.map(({ file }) => file)).toEqual(there);
      expect(there).toHaveLength(1);
      return world.millrace(['--data', world.at('data'), 'verify', '--deep']);
    },
    verdict: 'PROVEN',
  });

  truth('an output folder has one pipeline: data of another is refused, even at the same moment', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const on = (name: string): string[] => ['--data', world.at(name), ...world.runArguments()];
      const both = await Promise.all(['one', 'two'].map((name) => outcomeOf(world.start(on(name)))));
      expect(both.map(({ code }) => code).sort()).toEqual([0, 78]);
      expect(both.find(({ code }) => code === 78)?.stderr).toMatch(
        /output folder .*\/out holds the batches of pipeline \w{8} \(sqlite:.*\/(one|two)\/millrace.db\); this is pipeline \w{8} \(sqlite:/,
      );
      const [first, second] = both[0]?.code === 0 ? ['one', 'two'] : ['two', 'one'];
      expect((await world.millrace(on(second))).code).toBe(78);
      expect((await world.millrace([...on(first), '--fresh'])).verdict).toBe('PROVEN');
      await rm(world.at(first), { recursive: true });
      return world.millrace(on(second));
    },
    verdict: 'PROVEN',
  });

  truth('two runs at once on one PostgreSQL: the second is refused, and gets a schema of its own', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const { url, remove } = await emptyDatabase('postgres');
      world.whenDone(remove);
      const other = await otherRoot(world);
      const on = (databaseUrl: string): Record<string, string> => ({ MILLRACE_DATABASE_URL: databaseUrl });
      const commands = [
        ['--data', world.at('dA'), ...world.runArguments()],
        ['--data', world.at('dB'), ...other],
      ];
      const both = await Promise.all(commands.map((args) => outcomeOf(world.start(args, on(url)))));
      expect(both.map(({ code }) => code).sort()).toEqual([0, 78]);
      const refused = both.findIndex(({ code }) => code === 78);
      expect(both[refused]?.stderr).toMatch(/\?schema=/);
      const last = await world.millrace(commands[refused]!, on(`${url}?schema=own`));
      expect(await world.delivered(world.at('outB'))).toEqual(Object.keys(B));
      return last;
    },
    verdict: 'PROVEN',
    delivered: ['a.txt'],
  });

  truth('jobs of another pipeline on the same Redis, or of one whose database was deleted, are never met', {
    tree: { 'a.txt': 'of A' },
    disturb: async (world) => {
      const redis = world.sharedRedis();
      const other = await otherRoot(world);
      const named = { ...redis, MILLRACE_REDIS_PREFIX: '{named}' };
      expect((await world.millrace(['--data', world.at('dA'), 'scan', world.tree], named)).code).toBe(0);
      const seen = await world.millrace(['--data', world.at('dA'), '-o', 'json', 'status'], named);
      expect(JSON.parse(seen.stdout)).toMatchObject({
        queues: expect.arrayContaining([
          expect.objectContaining({ queue: 'files-to-batch-queue', waiting: 1 }),
        ]),
      });
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
