import type { FileReader, FileToRead } from './file-reader.js';
import type { KnownContents } from './known-contents.repository.js';
import type { ReadOutcome } from './read-outcome.js';

/** Looking a count up takes as long as counting about so many bytes; below it, files are just counted. */
export const REMEMBER_BYTES = 131_072;

/** Has files counted, and large ones only when no file of the same content was counted before, here or elsewhere. */
export class CountedReader {
  constructor(
    private readonly reader: Pick<FileReader, 'read'>,
    private readonly known: Pick<KnownContents, 'tokensOf'>,
    /** Files larger than this are split, for which their count is no help. */
    private readonly oversizeBytes: number,
  ) {}

  /** What reading each file came to, in their order. `begin` is awaited before a thread has the first. */
  async read(files: readonly FileToRead[], begin: () => Promise<void>): Promise<ReadOutcome[]> {
    const small = files.filter((file) => !this.isLookedUp(file));
    const large = files.filter((file) => this.isLookedUp(file));
    const counting = this.reader.read('count', small, begin);
    const lookedUp = await Promise.all(large.map((file) => this.readLarge(file, begin)));
    const counted = (await counting).values();
    const found = lookedUp.values();
    return files.map((file) => (this.isLookedUp(file) ? found : counted).next().value as ReadOutcome);
  }

  private isLookedUp({ size }: FileToRead): boolean {
    return size >= REMEMBER_BYTES && size <= this.oversizeBytes;
  }

  private async readLarge(file: FileToRead, begin: () => Promise<void>): Promise<ReadOutcome> {
    const [hashed] = await this.reader.read('hash', [file], begin);
    if (hashed?.kind !== 'hashed') return hashed as ReadOutcome;
    const tokens = await this.known.tokensOf(hashed.hash);
    const known = tokens === undefined ? {} : { known: { hash: hashed.hash, tokens } };
    const [counted] = await this.reader.read('count', [{ ...file, ...known }]);
    return counted as ReadOutcome;
  }
}
