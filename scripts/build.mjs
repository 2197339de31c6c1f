// `npm run build [-- <app>…]`: `nest build` of the apps, all of them unless named, into an empty folder. With --tests also
// the threads and processes that only tests start. dist/sbom.json is the bill of what the image holds.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rspack } from '@rspack/core';
import { APPS, testBundle } from '../rspack.config.mjs';
import { sbomOf } from './sbom.mjs';

const ROOT = join(import.meta.dirname, '..');
const FIRST_START_MS = 30_000;
const wanted = process.argv.slice(2).filter((word) => word !== '--tests');
if (wanted.length === 0)
  for (const old of ['apps', 'libs', 'test', 'bench'])
    rmSync(join(ROOT, 'dist', old), { recursive: true, force: true });
const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
const built = spawnSync(process.execPath, [nest, 'build', ...(wanted.length > 0 ? wanted : ['--all'])], {
  cwd: ROOT,
  encoding: 'utf8',
});
if (built.status !== 0) console.error(`${built.stdout}${built.stderr}`);
process.exitCode = built.status ?? 1;
if (built.status === 0) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  writeFileSync(join(ROOT, 'dist/sbom.json'), `${JSON.stringify(sbomOf(lock), null, 2)}\n`);
  await Promise.all((wanted.length > 0 ? wanted : APPS).map(firstStart));
}
if (built.status === 0 && process.argv.includes('--tests'))
  rspack(testBundle()).run((error, stats) => {
    const problems = error ?? (stats.hasErrors() ? stats.toString('errors-warnings') : undefined);
    if (problems) console.error(problems);
    process.exitCode = problems ? 1 : 0;
  });

/**
 * The first start keeps the code that V8 compiles for it (apps/launch.js). It comes as far as a service does without a Redis, so that
 * its container, database and clients are among what is kept.
 */
async function firstStart(app) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-start-'));
  const places = { DATABASE_URL: `sqlite:${folder}/db`, REDIS_URL: 'redis://127.0.0.1:1', PORT: '0' };
  const own = { TARGET_DIRECTORY: folder, OUTPUT_DIRECTORY: folder, LOG_FORMAT: 'json' };
  const main = join(ROOT, 'dist/apps', app, 'src/main.js');
  const child = spawn(process.execPath, [main, ...(app === 'cli' ? ['--help'] : [])], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH, ...places, ...own },
  });
  child.stdout.on('data', (text) => {
    if (String(text).includes('"breaker":"open"')) child.kill('SIGTERM');
  });
  const tooLong = setTimeout(() => child.kill('SIGKILL'), FIRST_START_MS);
  await once(child, 'exit');
  clearTimeout(tooLong);
  rmSync(folder, { recursive: true });
}
