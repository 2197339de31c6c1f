import type { KeySpec } from './key.js';

const MASK = '******';
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

/** A value as it may be shown: secrets hidden whole, and of any address its credentials and query. */
export function masked({ secret }: Pick<KeySpec, 'secret'>, value: unknown): unknown {
  if (value === undefined) return value;
  if (!secret) return typeof value === 'string' && ADDRESS.test(value) ? withoutKeys(value) : value;
  if (secret === 'url' && Array.isArray(value)) return value.map((item) => masked({ secret }, item));
  // What is no text is no address: nothing of it is shown.
  return secret === 'url' && typeof value === 'string' ? maskUrl(value) : MASK;
}

/** The path of a web hook is its password. */
function maskUrl(text: string): string {
  return withoutKeys(text).replace(/^(https?:\/\/[^/?]*\/)[^?]+/i, `$1${MASK}`);
}

/** A password may hold `@` and `/`, so all up to the last `@` goes. */
function withoutKeys(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^]*@/i, `$1${MASK}@`).replace(/\?[^]*$/, `?${MASK}`);
}
