import { createHash, hash as hashWhole } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type BigIntStats } from 'node:fs';
import type { FsPath } from '../listing/path-text.js';
import { faultCode, isGone, isRecordable, patiently } from '../listing/fs-faults.js';

export type HashAlgorithm = 'sha256' | 'sha512' | 'sha3-256';

export interface HashedStat {
  size: number;
  mtimeNs: string;
  ctimeNs: string;
  inode: string;
}

export type HashOutcome =
  /** The stat is that of the bytes that were hashed. */
  | { state: 'hashed'; hash: string; stat: HashedStat }
  | { state: 'gone' }
  /** It did not hold still for three readings. */
  | { state: 'changing' }
  | { state: 'failed'; error: string; message: string };

export interface HashOptions {
  /** Called before each chunk; throws when the caller gave up. */
  checkpoint: () => void;
  /** One for all files of a thread. */
  buffer: Buffer;
}

export const CHUNK_BYTES = 64 * 1024;
const READINGS = 3;
// Never waits for the other end of a FIFO, never follows a link that took the file's place.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Hashes a file of any size, 64 KB at a time. A file that changes while it is read is read again. Synchronous, for threads. */
export function hashFile(path: FsPath, algorithm: HashAlgorithm, options: HashOptions): HashOutcome {
  try {
    const descriptor = patiently(() => openSync(path, FLAGS));
    try {
      return readSteadily(descriptor, algorithm, options);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return failureOf(error, path);
  }
}

function readSteadily(descriptor: number, algorithm: HashAlgorithm, options: HashOptions): HashOutcome {
  for (let reading = 0; reading < READINGS; reading++) {
    const before = fstatSync(descriptor, { bigint: true });
    if (!before.isFile()) return { state: 'failed', error: 'ENOTREG', message: 'no longer a regular file' };
    const hash = digest(descriptor, Number(before.size), algorithm, options);
    const after = fstatSync(descriptor, { bigint: true });
    if (isSame(before, after)) return { state: 'hashed', hash, stat: statOf(after) };
  }
  return { state: 'changing' };
}

/** Of the first `size` bytes: a file that grows faster than it is read must not be read for ever. */
function digest(
  descriptor: number,
  size: number,
  algorithm: HashAlgorithm,
  { checkpoint, buffer }: HashOptions,
): string {
  if (size <= buffer.length) return digestWhole(descriptor, size, algorithm, { checkpoint, buffer });
  const hash = createHash(algorithm);
  for (let position = 0; position < size;) {
    checkpoint();
    const wanted = Math.min(buffer.length, size - position);
    const read = patiently(() => readSync(descriptor, buffer, 0, wanted, position));
    if (read === 0) break;
    hash.update(buffer.subarray(0, read));
    position += read;
  }
  return hash.digest('hex');
}

/** In one go, without a hash object: most files are small. */
function digestWhole(
  descriptor: number,
  size: number,
  algorithm: HashAlgorithm,
  { checkpoint, buffer }: HashOptions,
): string {
  checkpoint();
  let filled = 0;
  while (filled < size) {
    const read = patiently(() => readSync(descriptor, buffer, filled, size - filled, filled));
    if (read === 0) break;
    filled += read;
  }
  return hashWhole(algorithm, buffer.subarray(0, filled), 'hex');
}

function isSame(before: BigIntStats, after: BigIntStats): boolean {
  return before.size === after.size && before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs;
}

/** A stat as one text, to be compared. */
export function seenText({ size, mtimeNs, ctimeNs, inode }: HashedStat): string {
  return `${size},${mtimeNs},${ctimeNs},${inode}`;
}

function statOf(stat: BigIntStats): HashedStat {
  return {
    size: Number(stat.size),
    mtimeNs: String(stat.mtimeNs),
    ctimeNs: String(stat.ctimeNs),
    inode: `${stat.dev}:${stat.ino}`,
  };
}

function failureOf(error: unknown, path: FsPath): HashOutcome {
  if (!isRecordable(error)) throw error;
  const code = faultCode(error);
  if (isGone(code) && folderStands(path)) return { state: 'gone' };
  return { state: 'failed', error: code, message: error.message };
}

/** A file is gone only from a folder that is there: with the folder away it may be the mount. */
function folderStands(path: FsPath): boolean {
  try {
    const bytes = Buffer.from(path);
    return lstatSync(bytes.subarray(0, Math.max(bytes.lastIndexOf(0x2f), 1))).isDirectory();
  } catch {
    return false;
  }
}
