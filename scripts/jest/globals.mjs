// What spec files import as `@jest/globals`. Modules live as long as the worker, Jest's functions as long as one file: each
// export passes on to those of the file that runs now.
const now = (name) =>
  new Proxy(() => {}, {
    apply: (_, self, args) => globalThis.jestOfThisFile[name].apply(self, args),
    get: (_, key) => globalThis.jestOfThisFile[name][key],
  });

export const [jest, expect, describe, it, test] = ['jest', 'expect', 'describe', 'it', 'test'].map(now);
export const [beforeAll, beforeEach, afterEach, afterAll] = [
  'beforeAll',
  'beforeEach',
  'afterEach',
  'afterAll',
].map(now);
