// `npm run torture [-- <part>…]`: the long forms, for hours and not for every change. Parts: tests (every test that has a
// full form), storms (seeds 1 to 20 on both databases), mutation (planted errors in pure decisions), containers (the
// image and the compose file by a real engine). All without a name; all are run and every failure is reported.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runScript, setup } from './setup.mjs';
import { jest, specs } from './steps.mjs';

const PARTS = {
  tests: () => jest(withFullForm(), { MILLRACE_TORTURE: 'full' }),
  storms: () => script('storm.mjs', ['--seeds', '1..20', '--database', 'both']),
  mutation: () => script('mutation.mjs', []),
  containers: () => script('containers.mjs', []),
};

await runScript(async () => {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((name) => !(name in PARTS));
  if (unknown.length > 0) {
    console.error(`no such part: ${unknown.join(', ')}; known: ${Object.keys(PARTS).join(', ')}`);
    process.exitCode = 64;
    return;
  }
  setup({ tests: true });
  const failed = [];
  for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS))
    if ((await PARTS[name]()) !== 0) failed.push(name);
  if (failed.length > 0) console.error(`millrace: failed: ${failed.join(', ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});

function withFullForm() {
  return specs().filter((file) => readFileSync(file, 'utf8').includes('MILLRACE_TORTURE'));
}

function script(name, args) {
  const done = spawnSync(process.execPath, [join(ROOT, 'scripts', name), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return done.status ?? 1;
}
