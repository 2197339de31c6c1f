import type { FileJob } from '#contracts';
import type { FileReader } from './file-reader.js';
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

  async read({ fileId, revision, fileSize: size }: FileJob): Promise<ReadOutcome> {
    const request = { fileId, revision, size };
    if (size < REMEMBER_BYTES || size > this.oversizeBytes)
      return this.reader.read({ ...request, what: 'count' });
    const hashed = await this.reader.read({ ...request, what: 'hash' });
    if (hashed.kind !== 'hashed') return hashed;
    const tokens = await this.known.tokensOf(hashed.hash);
    const known = tokens === undefined ? {} : { known: { hash: hashed.hash, tokens } };
    return this.reader.read({ ...request, ...known, what: 'count' });
  }
}
