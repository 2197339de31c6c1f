// `npm test`: types, lint, format, and every test on real services; what CI runs. `npm test -- <jest arguments>` runs only
// tests; when these are pure code it builds nothing and starts no service.
import { installDependencies, runScript, setup } from './setup.mjs';
import { jest, specs, staticSteps } from './steps.mjs';

const wanted = process.argv.slice(2);

await runScript(async () => {
  const unit = wanted.length > 0 && onlyUnits();
  if (unit) installDependencies();
  else setup({ tests: true });
  const checked = wanted.length > 0 ? [] : staticSteps();
  const tested = await jest(wanted, unit ? { MILLRACE_UNIT_ONLY: '1' } : {});
  const failed = [...(await checked), ...(tested === 0 ? [] : ['tests'])];
  if (failed.length > 0) console.error(`millrace: failed: ${failed.join(', ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});

/** Whether the paths among the arguments lead to unit specs alone. */
function onlyUnits() {
  const paths = wanted.filter((word) => !word.startsWith('-')).map((word) => new RegExp(word));
  const named = specs().filter((file) => paths.some((path) => path.test(file)));
  return named.length > 0 && named.every((file) => file.endsWith('.spec.ts'));
}
