import { lstatSync, type BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { faultCode, isTransient, patiently } from './fs-faults.js';
import type { FileEntry, SkipReason, SubfolderEntry } from './listing.js';
import { nameKey, pathKey } from './path-key.js';
import { pathText, type FsPath } from './path-text.js';
import { specialReason } from './symlink-policy.js';

type Facts = Pick<FileEntry, 'size' | 'mtimeNs' | 'ctimeNs' | 'inode'>;

/** What lstat says of an entry, or the number of its error. Never opens anything. */
export function look(path: FsPath): { stat: BigIntStats } | { error: string } {
  try {
    return { stat: patiently(() => lstatSync(path, { bigint: true })) };
  } catch (error) {
    if (isTransient(error)) throw error;
    return { error: faultCode(error) };
  }
}

export function fileEntry(path: FsPath, stat: BigIntStats, skip: SkipReason | null): FileEntry {
  const { text, bytes } = pathText(path);
  return {
    name: nameOf(path),
    path: text,
    pathBytes: bytes,
    ...factsOf(stat),
    skip,
    error: null,
  };
}

function factsOf({ size, mtimeNs, ctimeNs, dev, ino }: BigIntStats): Facts {
  return { size: Number(size), mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs), inode: `${dev}:${ino}` };
}

/** The entry as the file is now; as it was seen if it cannot be looked at, or is no file that is carried. */
export async function seenAgain(entry: FileEntry): Promise<FileEntry> {
  if (entry.skip !== null || entry.error !== null) return entry;
  try {
    const now = await stat(entry.pathBytes === null ? entry.path : Buffer.from(entry.pathBytes, 'base64'), {
      bigint: true,
    });
    return now.isFile() ? { ...entry, ...factsOf(now) } : entry;
  } catch {
    // Whoever reads it finds out what is the matter.
    return entry;
  }
}

export function unreadableEntry(path: FsPath, error: string): FileEntry {
  const { text, bytes } = pathText(path);
  const unknown = { size: 0, mtimeNs: '0', ctimeNs: '0', inode: '' };
  return { name: nameOf(path), path: text, pathBytes: bytes, ...unknown, skip: 'unreadable', error };
}

export function subfolderEntry(path: FsPath): SubfolderEntry {
  const { text, bytes } = pathText(path);
  return { path: text, pathBytes: bytes, key: pathKey(path) };
}

function nameOf(path: FsPath): string {
  if (typeof path === 'string') return path.slice(path.lastIndexOf('/') + 1);
  return nameKey(path.subarray(path.lastIndexOf(0x2f) + 1));
}

/** Why an entry of this kind is registered but not carried; null for what is. */
export function skipReasonOf(stat: BigIntStats, maxFileBytes: number): SkipReason | null {
  if (stat.isFile()) return stat.size > BigInt(maxFileBytes) ? 'too-large' : null;
  // Became a folder or link since its name was read: the next scan sees it as what it is.
  if (stat.isDirectory() || stat.isSymbolicLink()) return 'unreadable';
  return specialReason(stat);
}
