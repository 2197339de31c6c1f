// `npm test [-- jest arguments]`: sets up what is missing, then runs every test on real services.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT, runScript, setup } from './setup.mjs';

await runScript(() => {
  setup({ tests: true });
  process.exitCode = jest('jest.config.mjs', process.argv.slice(2));
});

function jest(config, args) {
  const flags = ['--experimental-vm-modules', '--no-warnings'];
  const bin = join(ROOT, 'node_modules/jest/bin/jest.js');
  const done = spawnSync(process.execPath, [...flags, bin, '--config', join(ROOT, config), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return done.status ?? 1;
}
