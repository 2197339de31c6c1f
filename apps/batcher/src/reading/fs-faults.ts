import type { ReadOutcome } from './read-outcome.js';

const GONE = ['ENOENT', 'ENOTDIR'];
const FORBIDDEN = ['EACCES', 'EPERM'];
// A link (O_NOFOLLOW), a folder, a socket, a device without a driver: what was a file is none any more.
const NO_FILE = ['ELOOP', 'EISDIR', 'ENXIO', 'ENODEV', 'EOPNOTSUPP'];

/**
 * What an error of the file system says about the file. Only what the file itself is at fault for skips it; everything
 * else (EMFILE, EIO, EAGAIN, ESTALE, …) may pass, so it is tried again and never reads as "gone".
 */
export function outcomeOfFault(error: unknown): ReadOutcome {
  const { code, message } = describe(error);
  if (GONE.includes(code)) return { kind: 'skipped', reason: 'vanished', error: code };
  if (FORBIDDEN.includes(code)) return { kind: 'skipped', reason: 'unreadable', error: code };
  if (NO_FILE.includes(code)) return { kind: 'skipped', reason: 'not-a-file', error: code };
  return { kind: 'failed', code, error: message };
}

function describe(error: unknown): { code: string; message: string } {
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  return { code: firstText(code, name) ?? 'UNKNOWN', message: firstText(message) ?? String(error) };
}

function firstText(...values: unknown[]): string | undefined {
  return values.find((value) => typeof value === 'string');
}
