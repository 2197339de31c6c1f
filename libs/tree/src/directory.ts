import { opendirSync, type Dirent } from 'node:fs';
import { meaningOf, patiently, type FsPath } from '#files';

/** Its name holds a character a byte, whatever the encoding: cheaper than a buffer a name. */
export type Entry = Dirent;

const READ_AHEAD = 512;

type Names = 'latin1' | 'buffer';

/** All entries, or undefined when there are more than `limit`. */
export function entriesUpTo(folder: FsPath, limit: number): Entry[] | undefined {
  try {
    return listUpTo(folder, limit, 'latin1');
  } catch (error) {
    // Without entry types Node looks at each name itself, which it then spells wrong where it is not ASCII.
    if (meaningOf(error) !== 'gone') throw error;
    return listUpTo(folder, limit, 'buffer');
  }
}

function listUpTo(folder: FsPath, limit: number, names: Names): Entry[] | undefined {
  const entries: Entry[] = [];
  for (const entry of entriesOf(folder, names)) {
    if (entries.length === limit) return undefined;
    entries.push(entry);
  }
  return entries;
}

/** Hands over all entries, `size` at a time, so that no folder is too large for memory. */
export function eachChunk(folder: FsPath, size: number, use: (entries: Entry[]) => void): void {
  let entries: Entry[] = [];
  for (const entry of entriesOf(folder, 'buffer')) {
    entries.push(entry);
    if (entries.length < size) continue;
    use(entries);
    entries = [];
  }
  if (entries.length > 0) use(entries);
}

function* entriesOf(folder: FsPath, names: Names): Generator<Entry, void, void> {
  // Node takes buffers here, and gives them; its types do not say so.
  const options = { encoding: names as 'latin1', bufferSize: READ_AHEAD };
  const dir = patiently(() => opendirSync(folder as string, options));
  try {
    for (let entry = dir.readSync(); entry; entry = dir.readSync()) {
      if (typeof entry.name !== 'string') entry.name = Buffer.from(entry.name).toString('latin1');
      yield entry;
    }
  } finally {
    dir.closeSync();
  }
}
