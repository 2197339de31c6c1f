import type { KeySpec } from './key.js';

const MASK = '******';
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

/** A value as it may be shown: secrets hidden whole, and of any address its credentials and query. */
export function masked(spec: Pick<KeySpec, 'secret'>, value: unknown): unknown {
  if (value === undefined) return value;
  if (!spec.secret) return typeof value === 'string' && ADDRESS.test(value) ? withoutKeys(value) : value;
  if (spec.secret === true) return MASK;
  if (Array.isArray(value)) return value.map((item) => maskText(item));
  return maskText(value);
}

/** What is no text is no address: nothing of it is shown. */
function maskText(value: unknown): string {
  return typeof value === 'string' ? maskUrl(value) : MASK;
}

/** The path of a web hook is its password. */
function maskUrl(text: string): string {
  return withoutKeys(text).replace(/^(https?:\/\/[^/?]*\/)[^?]+/i, `$1${MASK}`);
}

/** A password may hold `@` and `/`, so all up to the last `@` goes. */
function withoutKeys(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^]*@/i, `$1${MASK}@`).replace(/\?[^]*$/, `?${MASK}`);
}

/** The same, as a text for a message. */
export function shown(spec: Pick<KeySpec, 'secret'>, value: unknown): string {
  return JSON.stringify(masked(spec, value)) ?? 'undefined';
}
