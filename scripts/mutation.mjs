// `npm run torture -- mutation`, or for some files `node scripts/mutation.mjs <part of a path>…`: plants errors in the pure decisions of test/mutation.json, one after another, and
// counts those that their unit specs notice. Fails below LEAST, and for a path that is gone.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { ROOT } from './setup.mjs';

const LEAST = 0.9;
const CAUGHT = ['Killed', 'Timeout'];
const COUNTED = [...CAUGHT, 'Survived', 'NoCoverage'];

const wanted = process.argv.slice(2);
const pairs = Object.entries(JSON.parse(readFileSync(join(ROOT, 'test/mutation.json'), 'utf8')));
const gone = pairs.flat().filter((path) => !existsSync(join(ROOT, path)));
if (gone.length > 0) throw new Error(`test/mutation.json names files that are gone: ${gone.join(', ')}`);
process.env.MILLRACE_UNIT_ONLY = '1';

const rates = [];
for (const [file, spec] of pairs.filter(
  ([path]) => wanted.length === 0 || wanted.some((word) => path.includes(word)),
))
  rates.push({ file, ...rate(await mutants(file, spec)) });
for (const { file, caught, all } of rates) console.log(`${percent(caught / all)} ${caught}/${all} ${file}`);
const low = rates.filter(({ caught, all }) => caught / all < LEAST);
if (low.length > 0)
  console.error(`millrace: below ${percent(LEAST)}: ${low.map(({ file }) => file).join(', ')}`);
process.exitCode = low.length > 0 ? 1 : 0;

function mutants(file, spec) {
  return new Stryker({
    mutate: [file],
    testRunner: 'jest',
    jest: {
      configFile: 'jest.config.mjs',
      enableFindRelatedTests: false,
      config: { testMatch: [`**/${spec}`], reporters: [] },
    },
    testRunnerNodeArgs: ['--import', join(ROOT, 'scripts/typescript.mjs'), '--no-warnings'],
    coverageAnalysis: 'off',
    concurrency: 1,
    ignorePatterns: ['/dist', '/docs', '/bench', '/deploy', '/apps/dlq-admin/ui', '/.millrace'],
    tempDirName: 'dist/.mutation',
    reporters: ['clear-text'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
    disableTypeChecks: false,
  }).runMutationTest();
}

function rate(results) {
  const counted = results.filter(({ status }) => COUNTED.includes(status));
  return { all: counted.length, caught: counted.filter(({ status }) => CAUGHT.includes(status)).length };
}

function percent(share) {
  return `${(share * 100).toFixed(1)} %`.padStart(7);
}
