import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT, spawnProgram, withTempFolder } from '#testing';

const FULL = process.env['MILLRACE_TORTURE'] === 'full';
const PARTS = [
  'package.json',
  'package-lock.json',
  'rspack.config.mjs',
  'scripts',
  'apps',
  'libs',
  'test/failure/storm',
];

/** `npm pack` in a copy of the project: it changes package.json while it works. What was built for this run is built. */
function packed(folder: string): string {
  const copy = join(folder, 'project');
  for (const part of [...PARTS, 'dist'])
    cpSync(join(PROJECT_ROOT, part), join(copy, part), { recursive: true, preserveTimestamps: true });
  writeFileSync(join(copy, 'dist/.built'), JSON.stringify({ at: Date.now() + 3_600_000 }));
  symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(copy, 'node_modules'));
  const [tarball] = JSON.parse(run('npm', ['pack', '--json'], copy)) as [{ filename: string }];
  return join(copy, tarball.filename);
}

/** What dlq-admin says of a run that is kept up, asked by the command line. */
async function statsOf(millrace: string, cwd: string): Promise<object> {
  const kept = spawnProgram(process.execPath, [millrace, './texts', '--keep'], { cwd });
  try {
    await kept.output('Services stay up', 90_000);
    return JSON.parse(run(process.execPath, [millrace, '-o', 'json', 'dlq', 'stats'], cwd)) as object;
  } finally {
    await kept.end('SIGINT', 60_000);
  }
}

/** As `npm install <tarball>` lays it out; the native packages are those that were built here, in full form those of npm. */
function installed(folder: string, tarball: string): string {
  const empty = join(folder, 'empty');
  mkdirSync(empty, { recursive: true });
  writeFileSync(join(empty, 'package.json'), '{ "private": true }');
  // As told in an empty folder: npm hands its settings for this project on to what it runs.
  if (FULL) run('env', ['-u', 'npm_config_strict_allow_scripts', 'npm', 'install', tarball], empty);
  else {
    mkdirSync(join(empty, 'node_modules/millrace'), { recursive: true });
    run('tar', ['xzf', tarball, '-C', 'node_modules/millrace', '--strip-components=1'], empty);
    run(process.execPath, [join(PROJECT_ROOT, 'scripts/outside.mjs'), empty], PROJECT_ROOT);
  }
  return empty;
}

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

describe('the package', () => {
  it(
    'installs into an empty folder and carries a directory to its proof with nothing else from the repository',
    () =>
      withTempFolder(async (folder) => {
        const empty = installed(folder, packed(folder));
        const own = join(empty, 'node_modules/millrace');

        const manifest = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as Record<
          string,
          object
        >;
        const files = readdirSync(own, { recursive: true, encoding: 'utf8' });
        mkdirSync(join(empty, 'texts'));
        writeFileSync(join(empty, 'texts/a.txt'), 'one file\n');
        const millrace = join(own, 'dist/apps/cli/src/main.js');
        chmodSync(millrace, 0o755); // as npm does with what it links
        const said = run(millrace, ['./texts'], empty);
        const letters = await statsOf(millrace, empty);

        expect(Object.keys(manifest['dependencies'] ?? {})).toEqual(['gpt-tokenizer', 'piscina', 'sqlite3']);
        expect(files.filter((file) => /\.(?:ts|map)$|spec|testing/.test(file))).toEqual([]);
        expect(said).toContain('PROVEN  nothing lost');
        expect(readdirSync(join(empty, 'millrace-out')).filter((file) => file.endsWith('.md'))).toHaveLength(
          1,
        );
        expect(letters).toMatchObject({ open: 0 });
      }),
    600_000,
  );
});
