// The steps of `npm run check` and `npm test`. Each says what it costs, and keeps what it found for the next time.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './setup.mjs';

const bin = (name) => join(ROOT, 'node_modules', name);
const cache = (name) => join(ROOT, 'node_modules/.cache/millrace', name);

const STATIC = {
  types: [bin('typescript/bin/tsc'), '-p', 'tsconfig.check.json'],
  lint: [
    bin('eslint/bin/eslint.js'),
    '--max-warnings',
    '0',
    '--cache',
    '--cache-location',
    cache('eslint'),
    '.',
  ],
  format: [
    bin('prettier/bin/prettier.cjs'),
    ...['--check', '--log-level', 'warn', '--cache', '--cache-location', cache('prettier'), '.'],
  ],
};

/** Types, lint and format; the names of those that failed. */
export function staticSteps() {
  return Object.entries(STATIC).flatMap(([name, args]) => (step(name, args) === 0 ? [] : [name]));
}

/** Jest on sources as they are. */
export function jest(args, env = {}) {
  const node = ['--import', './scripts/typescript.mjs', '--no-warnings', bin('jest/bin/jest.js')];
  return step('tests', [...node, '--config', 'jest.config.mjs', ...args], env);
}

/** Every file of tests. */
export function specs() {
  return ['apps', 'libs', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((file) => /[.-]spec\.ts$/.test(file))
      .map((file) => join(ROOT, folder, file)),
  );
}

function step(name, args, env = {}) {
  const started = Date.now();
  const { status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  console.error(`millrace: ${name} took ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return status ?? 1;
}
