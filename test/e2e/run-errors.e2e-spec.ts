import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PROJECT_ROOT, spawnProgram, type Child } from '#testing';
import { SmallDisk } from '../failure/storm/small-disk.js';
import { runContainer } from './deploy-container.js';
import { RecordingAnalyser } from './recording-analyser.js';
import { useRunRig } from './run-rig.js';
import { makeTree, textOf } from './tree.js';

const MILLRACE = join(PROJECT_ROOT, 'dist/apps/cli/src/main.js');

describe('millrace run, when something is wrong,', () => {
  const rig = useRunRig();
  describe('says what is wrong and how to mend it', () => {
    it.each([
      ['a missing directory', ['/nowhere/at/all'], 66, 'does not exist'],
      ['a file instead of a directory', [import.meta.filename], 66, 'is not a directory'],
      ['a wrong number of workers', ['.', '--workers', '0'], 64, 'allowed is a whole number from 1 to 64'],
      ['a patience that is no number', ['.', '--patience', 'long'], 64, 'allowed is a whole number'],
      ['an unknown format', ['.', '--format', 'pdf'], 64, 'markdown, xml, jsonl'],
      ['the directory as its own output', ['.', '--out', '.'], 64, 'choose another folder'],
    ])('for %s', async (_, args, code, words) => {
      const child = rig.millrace(['run', ...args]);
      expect((await child.exited).code).toBe(code);
      expect(child.stderr).toContain(words);
    });

    it('for a machine without redis-server, whose data are left as they are', async () => {
      await mkdir(rig.data);
      const database = join(rig.data, 'millrace.db');
      await writeFile(database, 'what a run before has left');
      const child = rig.millrace(['--data', rig.data, 'run', rig.tree, '--out', rig.out, '--fresh'], {
        PATH: '/nowhere',
      });
      expect((await child.exited).code).toBe(69);
      expect(child.stderr).toMatch(/install it[^]*on PATH[^]*MILLRACE_REDIS_URL/);
      expect(await readFile(database, 'utf8')).toBe('what a run before has left');
    });

    it('for a database that is damaged', async () => {
      await mkdir(rig.data);
      await writeFile(
        join(rig.data, 'millrace.db'),
        'this is not a database, however long you look at it'.repeat(100),
      );
      const child = rig.run();
      expect((await child.exited).code).toBe(1);
      expect(child.stderr).toMatch(/damaged or not a database; move it away/);
    });

    it('for an invalid setting, naming it as it was given', async () => {
      await makeTree(rig.tree, 2);
      const child = rig.millrace(['run', rig.tree, '--out', rig.out], { MILLRACE_BATCH_LINGER_MS: 'long' });
      expect((await child.exited).code).toBe(78);
      expect(child.stderr).toMatch(/MILLRACE_BATCH_LINGER_MS: found "long"/);
    }, 60_000);

    it('for a directory that may not be read', async () => {
      await chmod(rig.folder.path, 0o777);
      await chmod(rig.tree, 0o000);
      // Root may read everything, so it is somebody else who tries.
      const child = rig.keep(
        runContainer([MILLRACE, '--data', rig.data, 'run', rig.tree, '--out', rig.out], {}),
      );
      expect((await child.exited).code).toBe(66);
      expect(child.stderr).toMatch(/tree.*may not be read|permission/i);
    });

    it.each([
      { shape: 'one worker', options: [] },
      { shape: 'separate processes', options: ['--separate'] },
    ])(
      'for an analyser that is away longer than the patience of $shape, and delivers everything when it is there',
      async ({ options }) => {
        await makeTree(rig.tree, 12);
        const analyser = await RecordingAnalyser.start();
        analyser.busy = Infinity;
        try {
          const child = rig.run('--url', analyser.url, '--patience', '12', ...options);
          expect((await child.exited).code).toBe(1);
          expect(child.stderr).toMatch(/Waiting: .*waiting for http:.*status 503/);
          expect(child.stderr).toContain('Nothing is lost');
          analyser.busy = 0;
          expect(await rig.succeed(rig.run('--url', analyser.url, ...options))).toMatchObject({
            proof: { verdict: 'proven' },
          });
        } finally {
          await analyser.stop();
        }
      },
      240_000,
    );

    it('for an output folder whose disk gets full, leaves no batch cut short, and goes on when there is room', async () => {
      for (let n = 0; n < 40; n++) await writeFile(join(rig.tree, `f${n}.txt`), textOf(n, 60_000));
      const mounted = await SmallDisk.mount(rig.out, 1);
      // Without the right to mount there is no such disk to try.
      if (mounted.state === 'refused') return expect(mounted.reason).not.toBe('');
      const { disk } = mounted;
      const options = ['--format', 'jsonl', '--max-tokens', '50000', '--patience', '20'];
      try {
        const child = rig.run(...options);
        expect((await child.exited).code).toBe(1);
        expect(child.stderr).toMatch(/Waiting: .*no space left.*out/);
        expect(child.stderr).toMatch(/millrace: .*no space left.*Nothing is lost/);
        const before = await contentsOf(rig.out);
        expect(before.length).toBeGreaterThan(0);
        await spawnProgram('mount', ['-o', 'remount,size=20m', rig.out]).exited;
        expect(await rig.succeed(rig.run(...options))).toMatchObject({ proof: { verdict: 'proven' } });
        expect((await contentsOf(rig.out)).sort()).toEqual(
          Array.from({ length: 40 }, (_, n) => textOf(n, 60_000)).sort(),
        );
      } finally {
        for (const child of rig.children) await child.end('SIGKILL');
        await disk.unmount();
      }
    }, 240_000);

    it('for a data folder whose disk gets full, and goes on when there is room', async () => {
      await makeTree(rig.tree, 30);
      const mounted = await SmallDisk.mount(rig.data, 8);
      if (mounted.state === 'refused') return expect(mounted.reason).not.toBe('');
      const { disk } = mounted;
      try {
        await disk.fill();
        const child = rig.run('--patience', '20');
        expect((await child.exited).code).not.toBe(0);
        expect(child.stderr).toMatch(/no space left|disk is full/i);
        await disk.free();
        expect(await rig.succeed(rig.run())).toMatchObject({ proof: { verdict: 'proven' } });
      } finally {
        for (const child of rig.children) await child.end('SIGKILL');
        await disk.unmount();
      }
    }, 240_000);
  });
});

describe('millrace run that is kept up while port 8080 is in use', () => {
  const rig = useRunRig('group');
  // That somebody else has it already serves as well.
  const taken = createServer().on('error', (error) => expect(error).toMatchObject({ code: 'EADDRINUSE' }));
  let first: Child;

  beforeAll(async () => {
    await makeTree(rig.tree, 30);
    taken.listen(8080, '127.0.0.1');
    first = rig.run('--keep');
    await first.output('Services stay up', 60_000);
  }, 90_000);
  afterAll(() => void taken.close());

  it('takes another port and says which', () => {
    expect(first.stderr).toMatch(/Dead letters: http:\/\/127\.0\.0\.1:(?!8080)\d+/);
  });

  it('says to a second run on the same data that there is another, and ends in order itself', async () => {
    const second = rig.run();
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toContain('another millrace run');
    expect((await first.end('SIGINT')).code).toBe(0);
  }, 90_000);
});

/** What the batches in a folder hold; one that is cut short does not parse. */
async function contentsOf(out: string): Promise<string[]> {
  const names = (await readdir(out)).filter((name) => name.endsWith('.jsonl'));
  const texts = await Promise.all(names.map((name) => readFile(join(out, name), 'utf8')));
  return texts.flatMap((text) =>
    text
      .trimEnd()
      .split('\n')
      .flatMap((line) => (JSON.parse(line) as { content?: string }).content ?? []),
  );
}
