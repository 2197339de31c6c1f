// `npm test`: types, lint, format, and every test on real services; what CI runs. `npm test -- <jest arguments>` runs only
// tests; when these are pure code it builds nothing and starts no service. With MILLRACE_COVERAGE=1 it tells what they reached.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installDependencies, runScript, setup } from './setup.mjs';
import { jest, specs, staticSteps } from './steps.mjs';

const wanted = process.argv.slice(2);

await runScript(async () => {
  const unit = wanted.length > 0 && onlyUnits();
  if (unit) installDependencies();
  else setup({ tests: true });
  const checked = wanted.length > 0 ? [] : staticSteps();
  const run = (more) => jest(wanted, { ...(unit && { MILLRACE_UNIT_ONLY: '1' }), ...more });
  const tested = process.env.MILLRACE_COVERAGE ? await covered(run) : await run();
  const failed = [...(await checked), ...(tested === 0 ? [] : ['tests'])];
  if (failed.length > 0) console.error(`millrace: failed: ${failed.join(', ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});

async function covered(run) {
  const { reportCoverage } = await import('./coverage.mjs');
  const folder = mkdtempSync(join(tmpdir(), 'millrace-coverage-'));
  const tested = await run({ NODE_V8_COVERAGE: folder });
  await reportCoverage(folder);
  rmSync(folder, { recursive: true });
  return tested;
}

/** Whether the paths among the arguments lead to unit specs alone. */
function onlyUnits() {
  const paths = wanted.filter((word) => !word.startsWith('-')).map((word) => new RegExp(word));
  const named = specs().filter((file) => paths.some((path) => path.test(file)));
  return named.length > 0 && named.every((file) => file.endsWith('.spec.ts'));
}
