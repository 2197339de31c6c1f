// `node scripts/outside.mjs <folder>`: copies the packages that stand outside of the bundles, with what they need to run, into
// <folder>/node_modules. An image holds these, the bundles and the pages, nothing else.
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { OUTSIDE } from '../rspack.config.mjs';

const ROOT = join(import.meta.dirname, '..');
// Needed to compile native code, not to run it.
const TOOLS = new Set(['node-addon-api', 'node-gyp', 'prebuild-install', 'tar']);
const LEFTOVERS = /\/sqlite3\/(?:deps|src|build\/Release\/(?:obj|\.deps|.*\.a$))|\/gpt-tokenizer\/src/;

/** The folders of packages and of all that they depend on. */
export function closureOf(names, from = ROOT, found = new Set()) {
  for (const name of names) {
    const folder = TOOLS.has(name) ? undefined : find(name, from);
    if (!folder || found.has(folder)) continue;
    found.add(folder);
    const { dependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    closureOf(Object.keys({ ...dependencies, ...optionalDependencies }), folder, found);
  }
  return found;
}

function find(name, from) {
  const folder = join(from, 'node_modules', name);
  if (existsSync(folder)) return folder;
  return from === ROOT ? undefined : find(name, dirname(from));
}

const [target] = process.argv.slice(2);
if (target)
  for (const folder of closureOf(OUTSIDE))
    cpSync(folder, join(target, relative(ROOT, folder)), {
      recursive: true,
      filter: (path) => !LEFTOVERS.test(path),
    });
