import type { FileJob } from '#contracts';
import type { FileReader } from './file-reader.js';
import type { KnownContents } from './known-contents.repository.js';
import type { FileRef, ReadOutcome } from './read-outcome.js';

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

  async read({ filePath, pathBytes, fileSize }: FileJob): Promise<ReadOutcome> {
    const ref: FileRef = { path: filePath, ...(pathBytes !== undefined && { pathBytes }) };
    if (fileSize < REMEMBER_BYTES || fileSize > this.oversizeBytes)
      return this.reader.read({ ref, size: fileSize, what: 'count' });
    const hashed = await this.reader.read({ ref, size: fileSize, what: 'hash' });
    if (hashed.kind !== 'hashed') return hashed;
    const tokens = await this.known.tokensOf(hashed.hash);
    const known = tokens === undefined ? {} : { known: { hash: hashed.hash, tokens } };
    return this.reader.read({ ref: { ...ref, ...known }, size: fileSize, what: 'count' });
  }
}
