import { describe, expect } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { rename, rm } from 'node:fs/promises';
import { eventually, isStopped, spawnProgram, startRedis } from '#testing';
import { SmallDisk } from '../failure/storm/small-disk.js';
import { busy, refusing } from './analyser.js';
import { manyFiles, truth } from './truth.js';
import { outcomeOf, type World } from './world.js';

const FILES = { 'a.txt': 'a', 'sub/b.txt': 'b', 'sub/c.txt': 'c' };
const copy = (world: World, how: string, from: string, to: string): void =>
  void execFileSync('cp', [how, `${world.at(from)}/.`, world.at(to)]);

describe('a tree that is touched and not changed', () => {
  truth('is not sent again: linked elsewhere, replaced by a copy, mounted from another device', {
    tree: FILES,
    disturb: async (world) => {
      await world.run();
      const nothingNew = async (): Promise<void> => {
        const { stdout, verdict } = await world.run();
        expect(stdout).toMatch(/"delivered": \{\s*"files": 0,\s*"batches": 0/);
        expect(verdict).toBe('PROVEN');
      };
      await world.write({}, 'backup');
      copy(world, '-al', 'tree', 'backup');
      await nothingNew();
      await world.write({}, 'twin');
      copy(world, '-a', 'tree', 'twin');
      await rm(world.tree, { recursive: true });
      await rename(world.at('twin'), world.tree);
      await nothingNew();
      const device = await SmallDisk.mount(world.at('device'), 1);
      if (device.state === 'mounted') {
        world.whenDone(() => device.disk.unmount());
        copy(world, '-a', 'tree', 'device');
        execFileSync('mount', ['--bind', world.at('device'), world.tree]);
        world.whenDone(async () => execFileSync('umount', [world.tree]));
      }
      await nothingNew();
      return world.millrace(['verify', '--deep']);
    },
    verdict: 'PROVEN',
    delivered: Object.keys(FILES),
  });
});

describe('a tree that is touched while it waits for its delivery', () => {
  const LARGE = { ...FILES, 'large.txt': 'one two three four five\n'.repeat(600) };
  truth('is sent once: what is on its way is what it still is', {
    tree: LARGE,
    disturb: async (world) => {
      const analyser = await refusing(world, 503);
      const data = ['--data', world.at('data')];
      const redis = { ...world.sharedRedis(), MILLRACE_TEST_HASTE: '8' };
      const run = [...data, 'run', world.tree, '--url', analyser.url, '--max-tokens', '2000'];
      const refused = world.start(run, redis);
      await eventually(() => expect(analyser.asked).toBeGreaterThan(0), { timeoutMs: 60_000 });
      await refused.end('SIGKILL');
      await world.write(LARGE);
      const again = world.start(run, redis);
      await eventually(
        async () => {
          const { stdout } = await world.millrace([...data, '-o', 'json', 'status'], redis);
          const { queues } = JSON.parse(stdout) as { queues: { queue: string; delayed: number }[] };
          expect(queues.find(({ queue }) => queue === 'files-to-batch-queue')?.delayed).toBeGreaterThan(0);
        },
        { timeoutMs: 60_000, everyMs: 1_000 },
      );
      analyser.status = 200;
      expect((await outcomeOf(again)).verdict).toBe('PROVEN');
      expect(analyser.taken.sort()).toEqual([...Object.keys(LARGE), 'large.txt'].sort());
      return world.millrace([...data, 'verify', '--deep']);
    },
    verdict: 'PROVEN',
  });
});

describe('a run under a disturbance', () => {
  truth('goes on when Redis is flushed while the scan holds its lease', {
    tree: manyFiles(40),
    disturb: async (world) => {
      const redis = await startRedis();
      world.whenDone(() => redis.stop());
      await world.write({ 'millrace.json': '{"MILLRACE_FAULT":"producer.before-scan-row:1:stop"}' }, 'cwd');
      const child = world.start(world.runArguments(), { MILLRACE_REDIS_URL: redis.url });
      const worker = await world.pidOf('worker');
      await eventually(() => isStopped(worker), { timeoutMs: 60_000 });
      expect(await redis.command('KEYS', '*discovery-lock*')).toBe('*1');
      await world.write({ 'millrace.json': '{}' }, 'cwd');
      await redis.flush();
      process.kill(worker, 'SIGCONT');
      return outcomeOf(child);
    },
    verdict: 'PROVEN',
    says: /The scan is started again: /,
    delivered: Object.keys(manyFiles(40)),
  });

  truth('ends although a file is appended to all the time, names it, and delivers the rest', {
    tree: { ...FILES, 'restless.log': 'x' },
    disturb: async (world) => {
      // A process of its own, ahead of others: on a busy machine, too, nobody reads it twice the same.
      const append = `const flag = new Int32Array(new SharedArrayBuffer(4));
        for (;;) { require('fs').appendFileSync(process.argv[1], 'x'); Atomics.wait(flag, 0, 0, 2); }`;
      const command = [process.execPath, '-e', append, world.at('tree/restless.log')];
      const writer = spawnProgram('nice', ['-n', '-10', ...command]);
      world.whenDone(() => writer.end('SIGKILL'));
      const outcome = await world.run();
      expect(await world.delivered()).toEqual(expect.arrayContaining(Object.keys(FILES)));
      return outcome;
    },
    verdict: 'PROVEN EXCEPT',
    says: /restless\.log/,
  });

  truth('asks a busy analyser at intervals, even when that one says Retry-After: 0', {
    tree: manyFiles(60, 2_000),
    disturb: async (world) => {
      const analyser = await busy(world, 2_000);
      const args = ['-o', 'json', 'run', world.tree, '--max-tokens', '2000', '--url', analyser.url];
      const outcome = await world.millrace(args);
      expect(analyser.taken).toBeGreaterThan(10);
      expect(analyser.refused).toBeGreaterThan(0);
      expect(analyser.refused).toBeLessThan(3 * analyser.taken);
      return outcome;
    },
    verdict: 'PROVEN',
  });

  truth('has its data folder to itself: of two that begin at once, one is refused and says why', {
    tree: FILES,
    disturb: async (world) => {
      const args = ['--data', world.at('data'), ...world.runArguments()];
      const both = await Promise.all([outcomeOf(world.start(args)), outcomeOf(world.start(args))]);
      const [ran, refused] = both.sort((a, b) => Number(a.code) - Number(b.code));
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused?.stderr).toMatch(/another millrace run.* uses .*\/data; wait for it, or choose another/);
      return ran;
    },
    verdict: 'PROVEN',
    delivered: Object.keys(FILES),
  });
});
