import type { CountedFile } from './committing/commit-unit.js';
import type { KnownContents } from './reading/known-contents.repository.js';

export interface DuplicatesOptions {
  known: Pick<KnownContents, 'sentFile'>;
  /** Told while a file waits for another of the same content. */
  parked: (change: 1 | -1) => void;
}

/**
 * Sends one file of a content and skips its copies. Copies in one process wait for the first to be committed; copies
 * that two processes read at the same moment may both be sent. A copy stays skipped when its original changes later.
 */
export class Duplicates {
  private readonly latest = new Map<string, Promise<void>>();

  constructor(private readonly options: DuplicatesOptions) {}

  /** Runs `send`, or `skip` with the id of the file that was sent with the same content. */
  async once(
    file: CountedFile,
    send: () => Promise<void>,
    skip: (original: number) => Promise<void>,
  ): Promise<void> {
    const { hash } = file.facts;
    const turn = this.takeTurn(hash, file, send, skip);
    const ended = turn.catch(() => {});
    this.latest.set(hash, ended);
    try {
      await turn;
    } finally {
      if (this.latest.get(hash) === ended) this.latest.delete(hash);
    }
  }

  private async takeTurn(
    hash: string,
    file: CountedFile,
    send: () => Promise<void>,
    skip: (original: number) => Promise<void>,
  ): Promise<void> {
    const earlier = this.latest.get(hash);
    if (earlier) await this.park(earlier);
    const original = await this.options.known.sentFile(hash);
    return original === undefined || original === file.fileId ? send() : skip(original);
  }

  private async park(earlier: Promise<void>): Promise<void> {
    this.options.parked(1);
    await earlier;
    this.options.parked(-1);
  }
}
