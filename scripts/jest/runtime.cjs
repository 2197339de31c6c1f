// Loads spec files with Node's own loader instead of Jest's sandbox; see environment.mjs.
const process = require('node:process');
const { fileURLToPath, pathToFileURL } = require('node:url');

const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');
const RETRY_TIMES = Symbol.for('RETRY_TIMES');
const imports = new Map();
let cache;

module.exports = class NativeRuntime {
  constructor(_config, environment) {
    this.environment = environment;
    delete globalThis[TEST_TIMEOUT];
    delete globalThis[RETRY_TIMES];
    // Mutation testing says by the environment which planted error is alive; modules that stay loaded look here.
    if (globalThis.__stryker__) globalThis.__stryker__.activeMutant = process.env.__STRYKER_ACTIVE_MUTANT__;
  }

  setGlobalsForRuntime(globals) {
    globalThis.jestOfThisFile = { ...globals, jest: jestObject(this.environment) };
  }

  /** Circus only, whose state is that of one file: each file has its own. */
  requireInternalModule(path) {
    delete require.cache[path];
    delete globalThis[EVENT_HANDLERS];
    return require(path);
  }

  requireModule(path) {
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    cache ??= await import('../typescript-cache.mjs');
    const times = imports.get(path) ?? 0;
    imports.set(path, times + 1);
    // A second run in one process, as mutation testing makes them, must declare its tests again.
    return import(pathToFileURL(path).href + (times > 0 ? `?run=${times}` : ''));
  }

  getSourceMaps() {
    return new SourceMaps();
  }

  enterTestCode() {}
  leaveTestCode() {}
  getAllCoverageInfoCopy() {}
  teardown() {}
};

function jestObject({ moduleMocker: mocks, fakeTimersModern: timers }) {
  const own = {
    setTimeout: (ms) => {
      globalThis[TEST_TIMEOUT] = ms;
    },
    fn: (implementation) => mocks.fn(implementation),
    spyOn: (...args) => mocks.spyOn(...args),
    restoreAllMocks: () => mocks.restoreAllMocks(),
  };
  const offered = (name) => own[name] ?? (name in timers ? timers[name].bind(timers) : refuse(name));
  return new Proxy(own, { get: (_, name) => offered(name) });
}

function refuse(name) {
  throw new Error(
    `jest.${String(name)} is not offered: Node itself loads the modules; see scripts/jest/runtime.cjs`,
  );
}

/** Frames of compiled files lead to their sources. */
class SourceMaps extends Map {
  get(path) {
    const [file] = (path.startsWith('file:') ? fileURLToPath(path) : path).split('?');
    try {
      return file.endsWith('.ts') ? cache?.sourceMapOf(file) : undefined;
    } catch {
      return undefined; // a file that is gone
    }
  }
}
