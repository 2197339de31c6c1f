import { Injectable } from '@nestjs/common';
import { Accumulator } from './accumulator.js';
import type { CountedFile } from './committing/commit-unit.js';
import { CommitRepository } from './committing/commit.repository.js';

/**
 * Sends one file of a content and skips its copies. Copies in one process wait for the first to be committed; copies
 * that two processes read at the same moment may both be sent. A copy stays skipped when its original changes later.
 */
@Injectable()
export class Duplicates {
  private readonly latest = new Map<string, Promise<void>>();

  constructor(
    private readonly commits: CommitRepository,
    private readonly accumulator: Accumulator,
  ) {}

  /** Settles when the file is in a batch that is committed, or is skipped as a copy of one that was sent. */
  async sendOnce(file: CountedFile): Promise<void> {
    const { hash } = file.facts;
    const turn = this.sendOrSkip(file, this.latest.get(hash));
    const ended = turn.catch(() => {});
    this.latest.set(hash, ended);
    try {
      await turn;
    } finally {
      if (this.latest.get(hash) === ended) this.latest.delete(hash);
    }
  }

  private async sendOrSkip(file: CountedFile, earlier: Promise<void> | undefined): Promise<void> {
    const { accumulator } = this;
    let settled: Promise<unknown>;
    accumulator.entered(1);
    try {
      await this.parkBehind(earlier);
      const original = await this.commits.sentFile(file.facts.hash);
      settled =
        original === undefined || original === file.fileId
          ? new Promise<void>((done, fail) => accumulator.add(file, { done, fail }))
          : accumulator.commit({ kind: 'skip', files: [file], reason: 'duplicate', duplicateOf: original });
    } finally {
      accumulator.decided(1);
    }
    await settled;
  }

  private async parkBehind(earlier: Promise<void> | undefined): Promise<void> {
    if (!earlier) return;
    this.accumulator.parked(1);
    await earlier;
    this.accumulator.parked(-1);
  }
}
