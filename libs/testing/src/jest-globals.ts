import type * as Globals from '@jest/globals';

// Benchmarks and storm drivers use this lib as plain programs, where importing Jest's globals throws.
const globals = process.env.JEST_WORKER_ID === undefined ? undefined : await import('@jest/globals');

/** Jest's functions, for the suites that this lib offers; outside of Jest there are none. */
export function jestGlobals(): typeof Globals {
  if (!globals) throw new Error('this part of #testing works only inside a Jest test');
  return globals;
}
