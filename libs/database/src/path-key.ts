import { createHash } from 'node:crypto';

/**
 * The unique key of a path: 128 bits of sha256 over its bytes, 22 characters. Paths themselves cannot be the key:
 * PostgreSQL indexes at most 2.7 kB, and two names that are not UTF-8 may read the same as text.
 */
export function pathKey(path: string | Uint8Array): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 22);
}
