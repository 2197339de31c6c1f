import { opendirSync, type Dir, type Dirent } from 'node:fs';
import { patiently } from './fs-faults.js';

export type Entry = Dirent<Buffer>;

const READ_AHEAD = 512;

/** All entries, or undefined when there are more than `limit`. */
export function entriesUpTo(path: Buffer, limit: number): Entry[] | undefined {
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
export function eachChunk(path: Buffer, size: number, use: (entries: Entry[]) => void): void {
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

function withDirectory<T>(path: Buffer, use: (next: () => Entry | null) => T): T {
  // Node takes and gives buffers here; its types do not say so.
  const options = { encoding: 'buffer' as never, bufferSize: READ_AHEAD };
  const dir: Dir = patiently(() => opendirSync(path as unknown as string, options));
  try {
    return use(() => dir.readSync() as unknown as Entry | null);
  } finally {
    dir.closeSync();
  }
}
