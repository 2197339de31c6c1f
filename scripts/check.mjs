// `npm run check`: types, lint, format, size and unit tests. Runs all and reports every failure, not only the first.
import { installDependencies, runScript } from './setup.mjs';
import { jest, staticSteps } from './steps.mjs';

await runScript(async () => {
  installDependencies();
  const checked = staticSteps();
  const tested = await jest([], { MILLRACE_UNIT_ONLY: '1' });
  const failed = [...(await checked), ...(tested === 0 ? [] : ['unit tests'])];
  if (failed.length > 0) console.error(`millrace: failed: ${failed.join(', ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});
