// What a TypeScript file compiles to, kept on disk for as long as the file does not change.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '../node_modules/.cache/millrace/typescript');
const require = createRequire(import.meta.url);

/** The compiler's options for tests and bundles alike: decorator metadata is what Nest injects by. */
export const SWC = {
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
  },
};

export function compiled(file) {
  const cached = cachedFile(file);
  try {
    return { code: readFileSync(`${cached}.js`, 'utf8'), map: `${cached}.map` };
  } catch {
    return compile(file, cached);
  }
}

/** Where the source map of a compiled file is. */
export function sourceMapOf(file) {
  return `${cachedFile(file)}.map`;
}

function cachedFile(file) {
  const { mtimeMs, size } = statSync(file);
  return join(CACHE, createHash('sha1').update(`${file}\0${mtimeMs}\0${size}`).digest('hex'));
}

function compile(file, cached) {
  const { transformSync } = require('@swc/core');
  const { code, map } = transformSync(readFileSync(file, 'utf8'), {
    ...SWC,
    filename: file,
    swcrc: false,
    module: { type: 'es6' },
    sourceMaps: true,
  });
  const whole = `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}\n`;
  mkdirSync(CACHE, { recursive: true });
  write(`${cached}.map`, map);
  write(`${cached}.js`, whole);
  return { code: whole, map: `${cached}.map` };
}

/** Whole or not at all: several processes compile at the same time. */
function write(file, text) {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}
