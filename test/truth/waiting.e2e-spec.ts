import { describe, expect } from '@jest/globals';
import { rename, rm } from 'node:fs/promises';
import { Database, execute } from '#database';
import { Metrics, silentLogger } from '#service';
import { refusing } from './analyser.js';
import { truth } from './truth.js';
import type { Outcome, World } from './world.js';

const FILES = { 'sub/a.txt': 'a' };

/** A run of another root of the same pipeline: it does not see that something of the first is away. */
async function runOther(world: World, ...more: string[]): Promise<Outcome> {
  await world.write({ 'b.txt': 'b' }, 'other');
  return world.millrace(['--data', world.at('data'), 'run', world.at('other'), ...more]);
}

async function statements(world: World, ...all: string[]): Promise<void> {
  const url = `sqlite:${world.at('data', 'millrace.db')}`;
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  try {
    for (const sql of all) await database.inTransaction((tx) => execute(tx, sql));
  } finally {
    await database.stop();
  }
}

describe('a run that waits', () => {
  truth('ends when files wait for a folder that is away, says so first, and is no success', {
    tree: FILES,
    disturb: async (world) => {
      const data = ['--data', world.at('data')];
      await world.millrace([...data, 'scan', world.tree]);
      await rename(world.at('tree/sub'), world.at('aside'));
      const waits = await runOther(world, '--out', world.out, '--format', 'jsonl');
      expect(waits.stdout).toMatch(
        /^\nWAITING 1 file for a folder or mount that is away \(.*sub\/a\.txt\); /,
      );
      expect([waits.verdict, waits.code]).toEqual(['IN FLIGHT', 3]);
      await rename(world.at('aside'), world.at('tree/sub'));
      expect((await world.millrace([...data, ...world.runArguments()])).verdict).toBe('PROVEN');
      return world.millrace([...data, 'verify', '--deep']);
    },
    verdict: 'PROVEN',
    says: /analyzed 2 /,
    delivered: ['b.txt', 'sub/a.txt'],
  });

  truth('ends after its patience when a batch waits for folders that are away, and says which', {
    tree: FILES,
    disturb: async (world) => {
      const data = ['--data', world.at('data')];
      const analyser = await refusing(world);
      expect((await world.millrace([...data, 'run', world.tree, '--url', analyser.url])).code).toBe(3);
      await rename(world.at('tree/sub'), world.at('aside'));
      analyser.status = 200;
      const waits = await runOther(world, '--url', analyser.url, '--retry-failed', '--patience', '5');
      expect(waits.stderr).toMatch(/the folders of batch .* are not there .*sub\/a\.txt.*Nothing is lost/);
      expect(waits.code).toBe(1);
      await rename(world.at('aside'), world.at('tree/sub'));
      return world.millrace([...data, '-o', 'json', 'run', world.tree, '--url', analyser.url]);
    },
    verdict: 'PROVEN',
  });

  truth('ends when an event could not be published, and --retry-failed offers it again', {
    tree: FILES,
    disturb: async (world) => {
      const run = ['--data', world.at('data'), 'run', world.tree, '--out', world.out, '--format', 'jsonl'];
      await world.millrace(run);
      await statements(
        world,
        "UPDATE outbox SET status = 'DEAD' WHERE id IN (SELECT id FROM batches)",
        'UPDATE batches SET completed_at = NULL, answer = NULL',
        "UPDATE files SET status = 'batched'",
        'DELETE FROM analyses',
        'DELETE FROM inbox',
      );
      await rm(world.out, { recursive: true });
      const waits = await world.millrace(run);
      expect(waits.stdout).toMatch(/^\nWAITING 1 event that could not be published; .*--retry-failed/);
      expect(waits.code).toBe(3);
      return world.millrace([...run, '--retry-failed']);
    },
    verdict: 'PROVEN',
    says: /Offered again: 1 dead event\./,
    delivered: ['sub/a.txt'],
  });

  truth('a file that killed its readers is a dead letter, and --retry-failed offers it again', {
    tree: FILES,
    disturb: async (world) => {
      await world.write({ 'millrace.json': '{"MILLRACE_FAULT":"batcher.after-fetch:1:kill"}' }, 'cwd');
      const failed = await world.millrace(world.runArguments(), { MILLRACE_TEST_HASTE: '4' });
      expect([failed.verdict, failed.code]).toEqual(['PROVEN EXCEPT', 3]);
      await world.write({ 'millrace.json': '{}' }, 'cwd');
      return world.run('--retry-failed');
    },
    verdict: 'PROVEN',
    says: /Offered again: 1 dead letter\./,
    delivered: ['sub/a.txt'],
  });
});
