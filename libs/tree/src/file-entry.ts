import { stat } from 'node:fs/promises';
import {
  fileStat,
  fsPath,
  nameKey,
  pathKey,
  pathText,
  type FileStat,
  type FsPath,
  type SkipReason,
} from '#files';
import type { FileEntry, SubfolderEntry } from './listing.js';

/** `error`: the number of the error when the file cannot be looked at. */
export function fileEntry(
  path: FsPath,
  { size, mtimeNs, ctimeNs, inode }: FileStat,
  skip: SkipReason | null,
  error: string | null = null,
): FileEntry {
  const { text, bytes } = pathText(path);
  const name = bytes === null ? text.slice(text.lastIndexOf('/') + 1) : oddName(bytes);
  return { name, path: text, pathBytes: bytes, size, mtimeNs, ctimeNs, inode, skip, error };
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

export function subfolderEntry(path: FsPath): SubfolderEntry {
  const { text, bytes } = pathText(path);
  return { path: text, pathBytes: bytes, key: pathKey(path) };
}

function oddName(path: string): string {
  const bytes = Buffer.from(path, 'base64');
  return nameKey(bytes.subarray(bytes.lastIndexOf(0x2f) + 1));
}
