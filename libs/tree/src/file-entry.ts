import { lstatSync, type BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import {
  faultCode,
  fileStat,
  fsPath,
  meaningOf,
  nameKey,
  patiently,
  pathKey,
  pathText,
  type FsPath,
  type SkipReason,
} from '#files';
import type { FileEntry, SubfolderEntry } from './listing.js';
import { specialReason } from './symlink-policy.js';

/** What lstat says of an entry, or the number of its error. Never opens anything. */
export function look(path: FsPath): { stat: BigIntStats } | { error: string } {
  try {
    return { stat: patiently(() => lstatSync(path, { bigint: true })) };
  } catch (error) {
    if (meaningOf(error) === 'exhausted') throw error;
    return { error: faultCode(error) };
  }
}

export function fileEntry(path: FsPath, stat: BigIntStats, skip: SkipReason | null): FileEntry {
  const { text, bytes } = pathText(path);
  return { name: nameOf(path), path: text, pathBytes: bytes, ...fileStat(stat), skip, error: null };
}

/** The entry as the file is now; as it was seen if it cannot be looked at, or is no file that is carried. */
export async function seenAgain(entry: FileEntry): Promise<FileEntry> {
  if (entry.skip !== null || entry.error !== null) return entry;
  try {
    const now = await stat(fsPath({ text: entry.path, bytes: entry.pathBytes }), { bigint: true });
    return now.isFile() ? { ...entry, ...fileStat(now) } : entry;
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
  if (stat.isFile()) return Number(stat.size) > maxFileBytes ? 'too-large' : null;
  // Became a folder or link since its name was read: the next scan sees it as what it is.
  if (stat.isDirectory() || stat.isSymbolicLink()) return 'unreadable';
  return specialReason(stat);
}
