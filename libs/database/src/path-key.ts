import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';

/**
 * The unique key of a folder's path: 132 bits of sha256 over its bytes, 22 characters. The path itself cannot be the key:
 * PostgreSQL indexes at most 2.7 kB, and two names that are not UTF-8 may read the same as text.
 */
export function pathKey(path: string | Uint8Array): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 22);
}

/**
 * The unique key of a file within its folder: its name; when that is not UTF-8, a slash, which no name contains, and the
 * bytes in base64.
 */
export function nameKey(name: string | Uint8Array): string {
  if (typeof name === 'string') return name;
  return isUtf8(name) ? Buffer.from(name).toString() : `/${Buffer.from(name).toString('base64url')}`;
}
