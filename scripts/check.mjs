// `npm run check`: types, lint, format and unit tests. Runs all four and reports every failure, not only the first.
import { installDependencies, runScript } from './setup.mjs';
import { jest, staticSteps } from './steps.mjs';

await runScript(() => {
  installDependencies();
  const failed = staticSteps();
  if (jest([], { MILLRACE_UNIT_ONLY: '1' }) !== 0) failed.push('unit tests');
  if (failed.length > 0) console.error(`millrace: failed: ${failed.join(', ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});
