import { describe, expect, it } from '@jest/globals';
import { chmod, readdir, symlink, writeFile } from 'node:fs/promises';
import { eventually, spawnProgram, startPostgres } from '#testing';
import { refusing } from './analyser.js';
import { manyFiles, truth } from './truth.js';
import { outcomeOf, World, type Outcome } from './world.js';

describe('what the command line is told', () => {
  truth('patterns, folders and outputs may hold commas; more is excluded than what the run excludes itself', {
    tree: { 'a.js': 'a', 'b.min.js': 'b', 'src/c.js': 'c', 'left/d.js': 'd', 'e,f.txt': 'e', 'e.map': 'e' },
    disturb: async (world) => {
      await world.write({}, 'tree/cwd, and more');
      const args = ['-o', 'json', 'run', '..', '--out', world.at('tree/src,out'), '--format', 'jsonl'];
      const run = (): Promise<Outcome> =>
        world.millrace(
          [...args, '--exclude', '*.{min.js,map}', 'e,f.txt'],
          { MILLRACE_EXCLUDE_PATHS: world.at('tree/left') },
          'tree/cwd, and more',
        );
      await run();
      const again = await run();
      expect(await world.delivered(world.at('tree/src,out'))).toEqual(['a.js', 'src/c.js']);
      return again;
    },
    verdict: 'PROVEN',
  });

  truth('a folder that cannot be read is said aloud, and is no success', {
    tree: { 'a.txt': 'a', 'closed/b.txt': 'b' },
    disturb: async (world) => {
      await chmod(world.at('tree/closed'), 0);
      const outcome = await outcomeOf(world.startHumbly(world.runArguments().slice(2)));
      await chmod(world.at('tree/closed'), 0o755);
      return outcome;
    },
    verdict: 'PROVEN EXCEPT',
    says: /folder could not be listed[^]*\/closed/,
    delivered: ['a.txt'],
  });

  truth('a narrower --include asks first, with 77 and the option, and counts nothing below zero', {
    tree: { 'a.md': 'a', 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd' },
    disturb: async (world) => {
      await world.run();
      const asked = await world.run('--include', '*.md');
      expect(asked.code).toBe(77);
      expect(asked.stderr).toMatch(/say --allow-mass-removal/);
      return world.run('--include', '*.md', '--allow-mass-removal');
    },
    verdict: 'PROVEN',
    says: /"delivered": \{\s*"files": 0,\s*"batches": 0/,
    delivered: ['a.md', 'b.txt', 'c.txt', 'd.txt'],
  });

  truth('a scan that was killed is started again, whatever the level of the log', {
    tree: manyFiles(400),
    disturb: async (world) => {
      // A scan that does not come to its end by itself: it is killed in its middle.
      await world.write({ 'millrace.json': '{"MILLRACE_FAULT":"producer.before-finish:1:hang"}' }, 'cwd');
      const child = world.start(world.runArguments(), { MILLRACE_LOG_LEVEL: 'error' });
      await eventually(async () => expect(await world.delivered()).not.toEqual([]), { timeoutMs: 60_000 });
      await world.write({ 'millrace.json': '{}' }, 'cwd');
      process.kill(await world.pidOf('worker'), 'SIGKILL');
      return outcomeOf(child);
    },
    verdict: 'PROVEN',
    says: /The scan is started again: worker was killed by SIGKILL/,
    delivered: Object.keys(manyFiles(400)),
  });

  truth('a database that is away for a moment is waited for, and the run says so', {
    tree: manyFiles(60, 2_000),
    disturb: async (world) => {
      const server = await startPostgres();
      world.whenDone(() => server.stop());
      const analyser = await refusing(world, 200);
      // The run cannot have ended then: nobody has answered yet.
      analyser.onFirst = () => server.pause();
      const child = world.start(['run', world.tree, '--url', analyser.url], {
        MILLRACE_DATABASE_URL: server.url(),
      });
      await child.output('Waiting: the database does not answer', 120_000);
      await server.resume();
      const outcome = await outcomeOf(child);
      expect([...new Set(analyser.taken)].sort()).toEqual(Object.keys(manyFiles(60)).sort());
      return outcome;
    },
    verdict: 'PROVEN',
  });

  truth('settings and files of the project that is worked on are left alone', {
    tree: { 'a.txt': 'a' },
    disturb: async (world) => {
      await writeFile(
        world.at('cwd/.env'),
        'DATABASE_URL=postgres://nobody@127.0.0.1:1/project\nREDIS_URL=redis://127.0.0.1:1\n',
      );
      await writeFile(world.at('cwd/config.json'), '{"name":"project"}');
      return world.millrace(world.runArguments(), {
        DATABASE_URL: 'postgres://nobody@127.0.0.1:1/p',
        LOG_LEVEL: 'nonsense',
      });
    },
    verdict: 'PROVEN',
    delivered: ['a.txt'],
  });

  truth('a batch that was refused and whose files were then edited keeps no run from its end', {
    tree: { 'a.txt': 'a' },
    disturb: async (world) => {
      const analyser = await refusing(world);
      const args = ['-o', 'json', 'run', world.tree, '--url', analyser.url];
      expect((await world.millrace(args)).code).toBe(3);
      await world.write({ 'a.txt': 'edited' });
      analyser.status = 200;
      return world.millrace(args);
    },
    code: 0,
  });

  truth('what was touched after its batch was refused is sent once, though that batch is offered again', {
    tree: { 'a.txt': 'a', 'b.txt': 'b' },
    disturb: async (world) => {
      const analyser = await refusing(world);
      const args = ['-o', 'json', 'run', world.tree, '--url', analyser.url];
      expect((await world.millrace(args)).code).toBe(3);
      await world.write({ 'a.txt': 'a' });
      analyser.status = 200;
      expect((await world.millrace(args)).code).toBe(3);
      expect(analyser.taken).toEqual(['a.txt']);
      const again = await world.millrace([...args, '--retry-failed']);
      expect(analyser.taken).toEqual(['a.txt', 'b.txt']);
      return again;
    },
    verdict: 'PROVEN',
    says: /"delivered": \{\s*"files": 1,\s*"batches": 1/,
  });

  truth('what failed is offered again by the command that the summary names', {
    tree: { 'a.txt': 'a', 'b.txt': 'b' },
    disturb: async (world) => {
      const analyser = await refusing(world);
      const args = ['run', world.tree, '--url', analyser.url];
      const failed = await world.millrace(args);
      expect(failed.stdout).toMatch(
        /^\nFAILED 2 of 2 files\n {2}2 BatchRefusedError: .*status 400.*\n.*fix the cause.*run the same command with --retry-failed/,
      );
      expect(failed.stdout).toMatch(/\nDelivered nothing new in /);
      analyser.status = 200;
      const again = await world.millrace(args);
      expect([failed.code, again.code]).toEqual([3, 3]);
      return world.millrace([...args, '--retry-failed']);
    },
    verdict: 'PROVEN',
    says: /Offered again: 1 dead letter[^]*\nDelivered 2 files in 1 batch in /,
  });

  truth('a file that was only touched is told as such, and nothing is told as delivered', {
    tree: { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' },
    disturb: async (world) => {
      const args = ['run', world.tree, '--out', world.out, '--format', 'jsonl'];
      const touch = (name: string): Promise<void> => world.write({ [name]: name.charAt(0) });
      await world.millrace(args);
      await Promise.all([touch('a.txt'), touch('b.txt')]);
      expect((await world.millrace(args)).stdout).toMatch(
        /\nDelivered nothing new in [^]*\nTouched {3}2 files, content unchanged; not sent again\n/,
      );
      await touch('c.txt');
      return world.millrace(args);
    },
    verdict: 'PROVEN',
    says: /\nTouched {3}1 file, content unchanged; not sent again\n/,
    delivered: ['a.txt', 'b.txt', 'c.txt'],
  });

  truth('a scan leaves out what runs have written, and so does the deep look', {
    tree: { 'a.txt': 'a' },
    disturb: async (world) => {
      await world.write({}, 'tree');
      expect((await world.millrace(['-o', 'json', 'run', '.'], {}, 'tree')).verdict).toBe('PROVEN');
      expect((await world.millrace(['-o', 'json', 'run', '.', '--out', 'more'], {}, 'tree')).verdict).toBe(
        'PROVEN',
      );
      const scanned = await world.millrace(['scan', '.'], {}, 'tree');
      expect(JSON.parse(scanned.stdout)).toMatchObject({ files: 1 });
      return world.millrace(['verify', '--deep'], {}, 'tree');
    },
    verdict: 'PROVEN',
    says: /analyzed 1 /,
  });

  it('is checked before anything is started, and each fault carries the name of its option', async () => {
    const world = await World.open({ 'a.txt': 'a' });
    try {
      await world.write({ file: '' }, 'cwd');
      await symlink(world.at('not-there'), world.at('cwd/nowhere'));
      const wrong: [string[], number, RegExp][] = [
        [['--max-tokens', '10'], 64, /--max-tokens: found "10", allowed is a whole number from 1000/],
        [['--max-tokens', '1e4'], 64, /--max-tokens: found "1e4"/],
        [['--encoding', 'foo'], 64, /--encoding: found "foo", allowed is one of o200k_base/],
        [['--url', 'notaurl'], 64, /--url: found "notaurl"/],
        [['--url', 'ftp://x'], 64, /--url: found "ftp:\/\/x"/],
        [['--url', 'http://user:pass@host'], 64, /--url: credentials .*MILLRACE_ANALYZER_AUTHORIZATION/],
        [['--report', '/nonexist/x.json'], 73, /--report: \/nonexist\/x.json cannot be written/],
        [['--report', '..'], 73, /--report: .* cannot be written \(EISDIR/],
        [['--out', 'file/out'], 73, /--out: .*file cannot be written \(ENOTDIR/],
        [['--out', '/proc/none/out'], 73, /--out: \/proc cannot be written/],
        [['--out', 'nowhere/out'], 73, /--out: .*nowhere cannot be written \(E/],
        [['--out', ''], 64, /--out: found ""/],
        [['--max-tokens', ''], 64, /--max-tokens: found ""/],
        [['--include', '*.md', ''], 64, /--include: found ""/],
        [['--data', '../tree'], 64, /--data: .*tree is the directory itself/],
        [['--data', '..'], 64, /--data: .* holds the directory/],
      ];
      for (const [more, code, words] of wrong) {
        const outcome = await world.millrace(['run', world.tree, ...more]);
        expect(outcome.stderr).toMatch(words);
        expect(outcome.code).toBe(code);
        expect(outcome.stderr).not.toMatch(/\(environment\)|\n {4}at /);
      }
      expect(await readdir(world.at('cwd'))).toEqual(['file', 'nowhere']);
      const few = spawnProgram('sh', [
        '-c',
        `ulimit -n 64; exec "$@"`,
        'sh',
        process.execPath,
        ...world.command('run', world.tree),
      ]);
      expect((await few.exited).code).toBe(69);
      expect(few.stderr).toMatch(/64 open files.*ulimit -n 4096/);
      const nobody = await world.millrace(['dlq', 'groups']);
      expect(nobody).toMatchObject({ code: 69, stderr: expect.stringContaining('no dlq-admin runs') });
    } finally {
      await world.close();
    }
  }, 300_000);
});
