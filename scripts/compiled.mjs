// A start without compiling. Node 20 compiles an ES module anew at every start, which is nearly half of what the start of
// an app costs. So each bundle becomes a script (`main.script`), and `main.js` the few lines that run it, with the code that V8
// compiled in an earlier start if the build kept it (`main.compiled`). V8 refuses what another version or other flags left.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const KEEP = new URL('./keep-compiled.mjs', import.meta.url).href;
// As `millrace run` starts them; V8 takes code only under the flags that it was compiled with.
const FLAGS = { worker: ['--max-semi-space-size=32'] };
const STARTED_MS = 120_000;

/** Turns the bundles of an app, threads excepted, into scripts. Lines stay where source maps look for them. */
export function asScripts(folder) {
  for (const file of readdirSync(folder).filter((name) => /^(main|\d+)\.js$/.test(name))) {
    const bundle = readFileSync(join(folder, file), 'utf8');
    const name = file.slice(0, -'.js'.length);
    const exported = [...bundle.matchAll(/^export const (\w+) =/gm)].map(([, word]) => word);
    rmSync(join(folder, `${name}.compiled`), { force: true }); // V8 tells scripts apart by their length alone
    writeFileSync(join(folder, `${name}.script`), scriptOf(bundle), 'latin1');
    writeFileSync(join(folder, file), loaderOf(name, exported));
  }
}

function scriptOf(bundle) {
  const text = bundle
    .replace(/^#!.*/, '')
    .replaceAll(/^import ?\{ ?(\w+) as (\w+) ?\} from ("node:\w+");$/gm, 'const { $1: $2 } = require($3);')
    .replaceAll(/^export const (\w+) =/gm, 'exports.$1 =')
    .replaceAll(/(?<![\w$.])import\(/g, 'importModule(')
    .replaceAll('import.meta', 'importMeta')
    .replace(/^\/\/# sourceMappingURL=.*$/m, '')
    .replaceAll(/(\\*)([^\0-\xff])/g, escaped);
  return `(async function (exports, require, importModule, importMeta) {'use strict';${text}\n})`;
}

/** One byte a letter: to decode ten megabytes of UTF-8 takes longer than to load what was compiled of them. */
function escaped(_, backslashes, letter) {
  const code = letter.charCodeAt(0).toString(16).padStart(4, '0');
  return `${backslashes}${backslashes.length % 2 === 0 ? '\\' : ''}u${code}`;
}

function loaderOf(name, exported) {
  return `${name === 'main' ? '#!/usr/bin/env node\n' : ''}import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
const beside = (file) => readFileSync(new URL(file, import.meta.url));
let cachedData;
try {
  cachedData = beside('./${name}.compiled');
} catch {}
const script = new Script(beside('./${name}.script').toString('latin1'), { filename: import.meta.url, cachedData });
const exported = {};
const importModule = (name) => import(name);
await script.runInThisContext()(exported, createRequire(import.meta.url), importModule, import.meta);
export const { ${exported.join(', ')} } = exported;
`;
}

/** Starts each app once and keeps what V8 compiled on the way. One that does not start here starts as slowly as before. */
export async function keepCompiled(dist, apps) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-build-'));
  const [tree, socket] = [join(folder, 'tree'), join(folder, 'redis')];
  mkdirSync(tree);
  writeFileSync(join(tree, 'a.txt'), 'a file\n');
  const redis = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--save', ''], {
    stdio: 'ignore',
  });
  // Where there is none, what comes after the start is compiled at each start.
  let last = 'started';
  redis.on('error', () => (last = 'listening'));
  const shared = { REDIS_URL: `unix://${socket}`, TARGET_DIRECTORY: tree, LOG_FORMAT: 'json', PORT: '0' };
  const run = ['--data', join(folder, 'data'), 'run', tree, '--out', join(folder, 'out')];
  const startOne = (app) => {
    const main = join(dist, 'apps', app, 'src/main.js');
    const own = { DATABASE_URL: `sqlite:${folder}/${app}.db`, OUTPUT_DIRECTORY: join(folder, app) };
    const [args, env] = app === 'cli' ? [run, {}] : [[], { ...shared, ...own }];
    return started([...(FLAGS[app] ?? []), '--import', KEEP, main, ...args], env, () => `"${app} ${last}"`);
  };
  try {
    await Promise.all(apps.map(startOne));
  } finally {
    redis.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs an app until it has said the last word of its start, or ends by itself. */
async function started(args, env, lastWord) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  });
  const patience = [
    setTimeout(() => child.kill('SIGTERM'), STARTED_MS),
    setTimeout(() => child.kill('SIGKILL'), 2 * STARTED_MS),
  ];
  let said = '';
  child.stdout.on('data', (text) => {
    said += text;
    if (said.includes(lastWord())) child.kill('SIGTERM');
  });
  await once(child, 'close');
  patience.forEach(clearTimeout);
}
