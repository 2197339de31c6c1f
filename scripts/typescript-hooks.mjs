// Module hooks: `./x.js` of a TypeScript file is `./x.ts`, and sources are compiled when they are first loaded.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compiled } from './typescript-cache.mjs';

const JEST_GLOBALS = new URL('./jest/globals.mjs', import.meta.url).href;

export function resolve(specifier, context, next) {
  // Jest's own package refuses to be imported outside of its sandbox.
  if (specifier === '@jest/globals') return { url: JEST_GLOBALS, shortCircuit: true };
  if (/^(\.|file:).*\.js$/.test(specifier)) {
    const source = new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL);
    // A spec that is loaded again loads its neighbours again (`?run=2`), so that their constants are made anew.
    if (specifier.startsWith('./')) source.search = new URL(context.parentURL).search;
    if (existsSync(fileURLToPath(source))) return { url: source.href, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

export function load(url, context, next) {
  const [file] = url.split('?');
  if (!file.startsWith('file:') || !file.endsWith('.ts')) return next(url, context);
  return { format: 'module', source: compiled(fileURLToPath(file)).code, shortCircuit: true };
}
