import { createHash } from 'node:crypto';

/**
 * The same key as the database's `pathKey` (a test holds the two equal). Threads make it here because loading the
 * database's drivers into every thread would cost more than the scan of a small tree.
 */
export function pathKey(path: Buffer): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 22);
}
