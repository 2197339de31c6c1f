// `npm run build [-- <app>…]`: `nest build` of the apps, all of them unless named, into an empty folder. With --tests also
// the threads and processes that only tests start; with --warm what V8 compiles at a start is kept for the next ones.
// dist/sbom.json is the bill of what the image holds.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rspack } from '@rspack/core';
import { APPS, testBundle } from '../rspack.config.mjs';
import { asScripts, keepCompiled } from './compiled.mjs';
import { sbomOf } from './sbom.mjs';

const ROOT = join(import.meta.dirname, '..');
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
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
  const apps = wanted.length > 0 ? wanted : APPS;
  for (const app of apps) asScripts(join(ROOT, 'dist/apps', app, 'src'));
  if (process.argv.includes('--warm')) await keepCompiled(join(ROOT, 'dist'), apps);
}
if (built.status === 0 && process.argv.includes('--tests'))
  rspack(testBundle()).run((error, stats) => {
    const problems = error ?? (stats.hasErrors() ? stats.toString('errors-warnings') : undefined);
    if (problems) console.error(problems);
    process.exitCode = problems ? 1 : 0;
  });
