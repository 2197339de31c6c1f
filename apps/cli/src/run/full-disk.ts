import { statfs } from 'node:fs/promises';

// Less than a batch, and than what Redis or SQLite write at once.
const ENOUGH_BYTES = 1_000_000;

/** What to say about each of the folders whose disk has no room left. */
export async function fullDisks(folders: Record<string, string>): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(folders).map(async ([what, path]) => {
      const room = await statfs(path).catch(() => undefined);
      return room && room.bavail * room.bsize < ENOUGH_BYTES
        ? [`no space left on the disk of the ${what} folder ${path}; free some, or choose another`]
        : [];
    }),
  );
  return found.flat();
}
