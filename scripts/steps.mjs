// The steps of `npm run check` and `npm test`. Each says what it costs, and keeps what it found for the next time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statfsSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './setup.mjs';

const bin = (name) => join(ROOT, 'node_modules', name);
const cache = (name) => join(ROOT, 'node_modules/.cache/millrace', name);

const MEMORY = '/dev/shm';
const ROOM_BYTES = 4_000_000_000;

const STATIC = {
  'types and lint': [join(ROOT, 'scripts/types-and-lint.mjs')],
  'types of the pages': [bin('typescript/bin/tsc'), '-p', 'apps/dlq-admin/ui'],
  format: [
    bin('prettier/bin/prettier.cjs'),
    ...['--check', '--log-level', 'warn', '--cache', '--cache-location', cache('prettier'), '.'],
  ],
  size: [join(ROOT, 'scripts/ratchet.mjs')],
};

/** Types, lint, format and size, in the pauses of whatever runs beside them; the names of those that failed. */
export async function staticSteps() {
  const failed = Object.entries(STATIC).map(async ([name, args]) =>
    (await step(name, args, { quiet: true })) === 0 ? [] : [name],
  );
  return (await Promise.all(failed)).flat();
}

/** Jest on sources as they are. */
export function jest(args, env = {}) {
  const node = ['--import', './scripts/typescript.mjs', '--no-warnings', bin('jest/bin/jest.js')];
  return step('tests', [...node, '--config', 'jest.config.mjs', ...args], { env: { ...inMemory(), ...env } });
}

/** Tests make thousands of databases and trees for a moment: in memory, where there is room for them. */
function inMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM_BYTES ? { TMPDIR: MEMORY } : {};
  } catch {
    return {};
  }
}

/** Every file of tests. */
export function specs() {
  return ['apps', 'libs', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((file) => /[.-]spec\.ts$/.test(file))
      .map((file) => join(ROOT, folder, file)),
  );
}

/** A quiet one shows what it printed at its end, at once, and leaves the processor to others. */
async function step(name, args, { env = {}, quiet = false } = {}) {
  const started = Date.now();
  const output = [];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: ['ignore', ...(quiet ? ['pipe', 'pipe'] : ['inherit', 'inherit'])],
    env: { ...process.env, ...env },
  });
  // Behind the tests, and not so far that it would wait for ever beside other work.
  if (quiet) setPriority(child.pid, 5);
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => output.push(text));
  const [status] = await once(child, 'close');
  process.stderr.write(Buffer.concat(output));
  console.error(`millrace: ${name} took ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return status ?? 1;
}
