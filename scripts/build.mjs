// `npm run build [-- <app>…]`: bundles the apps, all of them unless named, each as `nest build <app>` does it, but side by
// side in one process. With --tests also the threads that only tests start.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { rspack } from '@rspack/core';
import { APPS, appBundle, testBundle } from '../rspack.config.mjs';

const DIST = join(import.meta.dirname, '../dist');
const wanted = process.argv.slice(2).filter((word) => word !== '--tests');
if (wanted.length === 0)
  for (const old of ['apps', 'libs', 'test', 'bench'])
    rmSync(join(DIST, old), { recursive: true, force: true });
const bundles = (wanted.length > 0 ? wanted : APPS).map(appBundle);
if (process.argv.includes('--tests')) bundles.push(testBundle());
rspack(bundles).run((error, stats) => {
  const problems =
    error ?? (stats.hasErrors() || stats.hasWarnings() ? stats.toString('errors-warnings') : undefined);
  if (problems) console.error(problems);
  process.exitCode = problems ? 1 : 0;
});
