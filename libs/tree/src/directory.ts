import { opendirSync, type Dir, type Dirent } from 'node:fs';
import { patiently, type FsPath } from '#files';

/** Its name holds a character a byte, whatever the encoding: cheaper than a buffer a name. */
export type Entry = Dirent;

const READ_AHEAD = 512;

/** All entries, or undefined when there are more than `limit`. */
export function entriesUpTo(path: FsPath, limit: number): Entry[] | undefined {
  const entries: Entry[] = [];
  return withDirectory(path, (next) => {
    for (let entry = next(); entry; entry = next()) {
      if (entries.length === limit) return undefined;
      entries.push(entry);
    }
    return entries;
  });
}

/** Hands over all entries, `size` at a time, so that no folder is too large for memory. */
export function eachChunk(path: FsPath, size: number, use: (entries: Entry[]) => void): void {
  withDirectory(path, (next) => {
    let entries: Entry[] = [];
    for (let entry = next(); entry; entry = next()) {
      entries.push(entry);
      if (entries.length < size) continue;
      use(entries);
      entries = [];
    }
    if (entries.length > 0) use(entries);
  });
}

function withDirectory<T>(path: FsPath, use: (next: () => Entry | null) => T): T {
  // Node takes buffers here; its types do not say so.
  const options = { encoding: 'latin1' as const, bufferSize: READ_AHEAD };
  const dir: Dir = patiently(() => opendirSync(path as string, options));
  try {
    return use(() => dir.readSync());
  } finally {
    dir.closeSync();
  }
}
