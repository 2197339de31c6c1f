// `npm run docs`: writes docs/configuration.md from the configuration classes of the apps, and the figures of
// bench/results.json into docs/performance.md. With --check it writes nothing and exits 1 when one is out of date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE, pageWithFigures } from './figures.mjs';
import { configurationPage } from './reference.mjs';
import { installDependencies, ROOT, runScript } from './setup.mjs';

await runScript(async () => {
  installDependencies();
  const outputs = {
    'docs/configuration.md': await configurationPage(),
    [PAGE]: pageWithFigures(),
  };
  const stale = Object.entries(outputs).filter(([file, text]) => current(file) !== text);
  if (process.argv.includes('--check')) {
    for (const [file] of stale) console.error(`${file} is out of date; run npm run docs`);
    process.exitCode = stale.length > 0 ? 1 : 0;
    return;
  }
  for (const [file, text] of stale) {
    writeFileSync(join(ROOT, file), text);
    console.error(`wrote ${file}`);
  }
});

function current(file) {
  return existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : undefined;
}
