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

  /** Runs `send`, or `skip` with the id of the file that was sent with the same content. */
  async once(
    { fileId, facts: { hash } }: CountedFile,
    send: () => Promise<void>,
    skip: (original: number) => Promise<void>,
  ): Promise<void> {
    const turn = this.inTurn(hash, (original) =>
      original === undefined || original === fileId ? send() : skip(original),
    );
    const ended = turn.catch(() => {});
    this.latest.set(hash, ended);
    try {
      await turn;
    } finally {
      if (this.latest.get(hash) === ended) this.latest.delete(hash);
    }
  }

  private async inTurn(hash: string, settle: (original?: number) => Promise<void>): Promise<void> {
    let settled: Promise<void>;
    this.accumulator.entered(1);
    try {
      await this.parkBehind(this.latest.get(hash));
      settled = settle(await this.commits.sentFile(hash));
    } finally {
      this.accumulator.decided(1);
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
