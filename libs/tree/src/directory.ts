import { opendirSync, readdirSync, type Dirent } from 'node:fs';
import { meaningOf, patiently, type FsPath } from '#files';

/** Its name holds a character a byte, whatever the encoding: cheaper than a buffer a name. */
export type Entry = Dirent;

const READ_AHEAD = 512;

// Node takes buffers as paths here, and gives them as names; its types do not say so.
type Names = 'latin1';
const BUFFERS = 'buffer' as Names;

/** All entries at once: for folders that are small. */
export function entriesOf(folder: FsPath): Entry[] {
  const read = (encoding: Names): Entry[] =>
    patiently(() => readdirSync(folder as string, { withFileTypes: true, encoding }));
  try {
    return read('latin1');
  } catch (error) {
    // Without entry types Node looks at each name itself, which it then spells wrong where it is not ASCII.
    if (meaningOf(error) !== 'gone') throw error;
    return read(BUFFERS).map(spelt);
  }
}

/** Hands over all entries, `size` at a time, so that no folder is too large for memory. */
export function eachChunk(folder: FsPath, size: number, use: (entries: Entry[]) => void): void {
  const dir = patiently(() => opendirSync(folder as string, { encoding: BUFFERS, bufferSize: READ_AHEAD }));
  try {
    let entries: Entry[] = [];
    for (let entry = dir.readSync(); entry; entry = dir.readSync()) {
      entries.push(spelt(entry));
      if (entries.length < size) continue;
      use(entries);
      entries = [];
    }
    if (entries.length > 0) use(entries);
  } finally {
    dir.closeSync();
  }
}

function spelt(entry: Entry): Entry {
  entry.name = Buffer.from(entry.name).toString('latin1');
  return entry;
}
