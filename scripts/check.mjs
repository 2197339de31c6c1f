// `npm run check`: format, lint, types, unit tests. Runs all four and reports every failure, not only the first.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installDependencies, ROOT, runScript } from './setup.mjs';

const bin = (name) => join(ROOT, 'node_modules', name);
const STEPS = [
  ['format', [bin('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']],
  ['lint', [bin('eslint/bin/eslint.js'), '--max-warnings', '0', '.']],
  ['types', [bin('typescript/bin/tsc'), '-p', 'tsconfig.check.json']],
  [
    'unit',
    [
      '--experimental-vm-modules',
      '--no-warnings',
      bin('jest/bin/jest.js'),
      '--config',
      'jest.unit.config.mjs',
    ],
  ],
];

await runScript(() => {
  installDependencies();
  const failed = STEPS.filter(([name, args]) => {
    console.error(`millrace: check ${name}`);
    return spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status !== 0;
  });
  if (failed.length > 0) console.error(`millrace: failed: ${failed.map(([name]) => name).join(', ')}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
});
