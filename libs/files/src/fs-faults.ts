import { types } from 'node:util';
import type { SkipReason } from './skip-reason.js';

/**
 * What an error of the file system says:
 * - `gone`, `forbidden`, `not-a-file`, `outside`, `too-long`: something about this one entry;
 * - `exhausted`: the process has run out of something for the moment, waiting cures it;
 * - `device`: the disk, its driver or the server behind a mount failed, which is no property of one file;
 * - `unknown`: nothing that we know.
 */
type FaultMeaning =
  'gone' | 'forbidden' | 'not-a-file' | 'outside' | 'too-long' | 'exhausted' | 'device' | 'unknown';

/** Not error numbers of the system: what the opener refuses. */
export const NOT_REGULAR = 'ENOTREG';
export const OUTSIDE_ROOT = 'EOUTSIDE';

const MEANINGS: Readonly<Record<Exclude<FaultMeaning, 'unknown'>, readonly string[]>> = {
  gone: ['ENOENT', 'ENOTDIR'],
  forbidden: ['EACCES', 'EPERM'],
  // A link (O_NOFOLLOW), a folder, a socket: what was a file is none any more.
  'not-a-file': ['ELOOP', 'EISDIR', 'EOPNOTSUPP', NOT_REGULAR],
  outside: [OUTSIDE_ROOT],
  'too-long': ['ENAMETOOLONG'],
  exhausted: ['EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM', 'EBUSY'],
  device: ['EIO', 'ENXIO', 'ENODEV', 'EROFS', 'ESTALE', 'EUCLEAN', 'ETIMEDOUT', 'EHOSTDOWN', 'ENOTCONN'],
};
const BY_CODE = new Map(
  Object.entries(MEANINGS).flatMap(([meaning, codes]) =>
    codes.map((code) => [code, meaning as FaultMeaning] as const),
  ),
);
const SKIPS: Partial<Record<FaultMeaning, SkipReason>> = {
  gone: 'vanished',
  forbidden: 'unreadable',
  'not-a-file': 'not-a-file',
  outside: 'outside-root',
};
const RETRY_MS = [10, 50, 200, 500, 1000, 2000];

export function faultCode(error: unknown): string {
  const code = types.isNativeError(error) && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'EUNKNOWN';
}

export function meaningOf(error: unknown): FaultMeaning {
  return meaningOfCode(faultCode(error));
}

export function meaningOfCode(code: string): FaultMeaning {
  return BY_CODE.get(code) ?? 'unknown';
}

/** The reason to skip the file, when the error says something about it; undefined for what may pass. */
export function skipReasonOfFault(error: unknown): SkipReason | undefined {
  return SKIPS[meaningOf(error)];
}

/** What the system, or `fault`, said to a call; everything else is a fault of ours, or a caller that gave up. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return types.isNativeError(error) && 'code' in error && 'syscall' in error;
}

/** An error that is recorded on the row it belongs to; everything else is a fault of ours or of the machine. */
export function isRecordable(error: unknown): error is NodeJS.ErrnoException {
  return isSystemError(error) && meaningOf(error) !== 'exhausted';
}

export function fault(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code, syscall: 'millrace' });
}

/** Runs a synchronous call again while it fails for want of descriptors or memory. For threads only: it blocks. */
export function patiently<T>(call: () => T, pause: (ms: number) => void = block): T {
  for (const wait of RETRY_MS) {
    try {
      return call();
    } catch (error) {
      if (meaningOf(error) !== 'exhausted') throw error;
      pause(wait);
    }
  }
  return call();
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
