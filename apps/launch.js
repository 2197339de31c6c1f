#!/usr/bin/env node
// Starts the program of an app, which stands beside this file as app.cjs, with the code that V8 compiled for it at an earlier
// start: compiling is half of a start's processor time. That code is kept beside the program, where who may write could
// change the program as well. Its name tells for which program, V8, flags and processor it is. Where nothing may be written,
// nothing is kept.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { constants, Script } from 'node:vm';

const VERSION = cachedDataVersionTag().toString(36);
const loaded = new Map();
const compiledNow = [];

/** What `require` does for a file, with kept code. */
function load(file) {
  const known = loaded.get(file);
  if (known) return known.exports;
  const module = { exports: {} };
  loaded.set(file, module);
  const [folder, outside] = [dirname(file), createRequire(file)];
  const require = (id) => (id.startsWith('./') ? load(join(folder, id)) : outside(id));
  require.resolve = outside.resolve;
  compile(file).runInThisContext()(module.exports, require, module, file, folder);
  return module.exports;
}

function compile(file) {
  const program = readFileSync(file);
  const code = `${file}.${createHash('sha256').update(program).digest('hex').slice(0, 16)}.${VERSION}.cache`;
  const cachedData = readIfThere(code);
  // The bundler writes nothing but ASCII.
  const text = `(function (exports, require, module, __filename, __dirname) {\n${program.latin1Slice()}\n})`;
  const script = new Script(text, {
    ...{ filename: pathToFileURL(file).href, lineOffset: -1, cachedData },
    importModuleDynamically: constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (!cachedData || script.cachedDataRejected) compiledNow.push({ code, script });
  return script;
}

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

// By then V8 has compiled what a start needs, which is far less than the whole program.
process.on('exit', () => {
  try {
    for (const { code, script } of compiledNow) {
      const unfinished = `${code}.${process.pid}`;
      writeFileSync(unfinished, script.createCachedData(), { flush: true });
      renameSync(unfinished, code);
    }
  } catch {
    // a place that may only be read
  }
});

load(join(import.meta.dirname, 'app.cjs'));
