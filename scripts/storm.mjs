// `npm run storm -- --minutes N --seed S --database sqlite|postgres`: sets up, then runs a storm of faults.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, runScript, setup } from './setup.mjs';

await runScript(() => {
  setup({ tests: true });
  const main = join(ROOT, 'dist/test/failure/storm/main.js');
  process.exitCode =
    spawnSync(process.execPath, [main, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
});
