// `npm run build [-- <app>…]`: `nest build` of the apps, all of them unless named, into an empty folder. With --tests also
// the threads and processes that only tests start. dist/sbom.json is the bill of what the image holds.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rspack } from '@rspack/core';
import { APPS, testBundle } from '../rspack.config.mjs';
import { sbomOf } from './sbom.mjs';

const ROOT = join(import.meta.dirname, '..');
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

/** The first start keeps the code that V8 compiles for it (apps/launch.js). */
async function firstStart(app) {
  const main = join(ROOT, 'dist/apps', app, 'src/main.js');
  await once(spawn(process.execPath, [main, '--help'], { stdio: 'ignore' }), 'exit');
}
