import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';

// The same keys as the database's `pathKey` and `nameKey` (a test holds them equal). Threads make them here because
// loading the database's drivers into every thread would cost more than the scan of a small tree.

export function pathKey(path: Buffer | string): string {
  return createHash('sha256').update(path).digest('base64url').slice(0, 22);
}

export function nameKey(name: Buffer): string {
  return isUtf8(name) ? name.toString() : `/${name.toString('base64url')}`;
}
