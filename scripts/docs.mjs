// `npm run docs`: writes docs/configuration.md and the list of known keys from the configuration classes of the apps, and
// the figures of bench/results.json into docs/performance.md. With --check it writes nothing and exits 1 when one is out of
// date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE, pageWithFigures } from './figures.mjs';
import { installDependencies, ROOT, runScript } from './setup.mjs';
import './typescript.mjs';

const APPS = ['producer', 'batcher', 'outbox-publisher', 'analyzer', 'dlq-admin', 'cli'];
// The convention: apps/<app>/src/<app>.config.ts exports its groups as `config`.
const configFile = (app) => join(ROOT, `apps/${app}/src/${app}.config.ts`);

await runScript(async () => {
  installDependencies();
  const { allKeys, renderReference } = await import('../libs/config/src/index.ts');
  const known = APPS.filter((app) => existsSync(configFile(app)));
  const apps = await Promise.all(
    known.map(async (name) => ({ name, groups: (await import(configFile(name))).config })),
  );
  const outputs = {
    'docs/configuration.md': renderReference(apps),
    'libs/config/src/known-keys.ts': knownKeys(allKeys(apps)),
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

function knownKeys(keys) {
  return `/** Every key of every app, so that one shared JSON file can serve them all. Kept true by the documentation test. */
export const KNOWN_KEYS: readonly string[] = [
${keys.map((key) => `  '${key}',`).join('\n')}
];
`;
}
