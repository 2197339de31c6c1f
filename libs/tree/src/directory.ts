import { opendirSync, type Dir, type Dirent } from 'node:fs';
import { meaningOf, patiently, useFolder, type FilePlace } from '#files';

/** Its name holds a character a byte, whatever the encoding: cheaper than a buffer a name. */
export type Entry = Dirent;

const READ_AHEAD = 512;

type Names = 'latin1' | 'buffer';

/** All entries, or undefined when there are more than `limit`. */
export function entriesUpTo(folder: FilePlace, limit: number): Entry[] | undefined {
  try {
    return listUpTo(folder, limit, 'latin1');
  } catch (error) {
    // Without entry types Node looks at each name itself, which it then spells wrong where it is not ASCII.
    if (meaningOf(error) !== 'gone') throw error;
    return listUpTo(folder, limit, 'buffer');
  }
}

function listUpTo(folder: FilePlace, limit: number, names: Names): Entry[] | undefined {
  const entries: Entry[] = [];
  return withDirectory(folder, names, (next) => {
    for (let entry = next(); entry; entry = next()) {
      if (entries.length === limit) return undefined;
      entries.push(entry);
    }
    return entries;
  });
}

/** Hands over all entries, `size` at a time, so that no folder is too large for memory. */
export function eachChunk(folder: FilePlace, size: number, use: (entries: Entry[]) => void): void {
  withDirectory(folder, 'buffer', (next) => {
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

function withDirectory<T>(folder: FilePlace, names: Names, use: (next: () => Entry | null) => T): T {
  // Node takes buffers here, and gives them; its types do not say so.
  const options = { encoding: names as 'latin1', bufferSize: READ_AHEAD };
  return useFolder(folder, (path) => {
    const dir: Dir = patiently(() => opendirSync(path as string, options));
    try {
      return use(() => spelt(dir.readSync()));
    } finally {
      dir.closeSync();
    }
  });
}

function spelt(entry: Entry | null): Entry | null {
  if (entry && typeof entry.name !== 'string') entry.name = Buffer.from(entry.name).toString('latin1');
  return entry;
}
