// Runs on the threads of the analyzer: parts of files in, their bytes out. Blocking calls take a third of the processor
// time of the others, and a mount that hangs holds up a thread, not the process.
import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { BatchFile } from '#contracts';

export type StaleReason = 'changed' | 'vanished';

export interface PartsRead {
  /** The bytes of all parts, one after another; what is stale leaves its place unused. */
  bytes: Uint8Array;
  /** By part: why its bytes are no longer what was counted, or null. */
  stale: (StaleReason | null)[];
}

// A name may have become a link or a FIFO since it was counted: do not follow the one nor wait for the other.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO'];

/** Reads parts as they are now. Errors that say nothing about the file throw. */
export default function readParts(parts: readonly BatchFile[]): PartsRead {
  const bytes = new Uint8Array(parts.reduce((sum, { start, end }) => sum + end - start, 0));
  let at = 0;
  const stale = parts.map((part) => {
    const place = bytes.subarray(at, (at += part.end - part.start));
    return readPart(part, place);
  });
  return { bytes, stale };
}

function readPart(part: BatchFile, place: Uint8Array): StaleReason | null {
  const path = part.pathBytes === undefined ? part.path : Buffer.from(part.pathBytes, 'base64');
  let fd: number | undefined;
  try {
    fd = openSync(path, OPEN_FLAGS);
    return fill(fd, part, place) && hash('sha256', place) === part.hash ? null : 'changed';
  } catch (error) {
    if (GONE.includes((error as NodeJS.ErrnoException).code ?? '')) return 'vanished';
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function fill(fd: number, { start, end, part, parts }: BatchFile, place: Uint8Array): boolean {
  const stat = fstatSync(fd);
  if (!stat.isFile() || stat.size < end || (part === parts && stat.size !== end)) return false;
  for (let filled = 0; filled < place.length;) {
    const read = readSync(fd, place, filled, place.length - filled, start + filled);
    if (read === 0) return false;
    filled += read;
  }
  return true;
}
