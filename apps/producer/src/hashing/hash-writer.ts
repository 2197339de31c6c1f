import type { HashResult } from './file-hashing.js';

interface Waiting {
  results: readonly HashResult[];
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Items whose results one transaction takes. */
export const ITEMS_A_WRITE = 5;

/**
 * The one writer of hashes: while a transaction commits, the results of other items gather for the next. Hashes come in no
 * order, so each transaction writes most pages of their index, however few they are.
 */
export class HashWriter {
  private readonly waiting: Waiting[] = [];
  private running = false;

  constructor(private readonly write: (results: readonly HashResult[]) => Promise<void>) {}

  /** Resolves when the results are committed; rejects when the transaction that took them failed. */
  record(results: readonly HashResult[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ results, resolve, reject });
      if (!this.running) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.waiting.length > 0) await this.writeTogether(this.waiting.splice(0, ITEMS_A_WRITE));
    this.running = false;
  }

  private async writeTogether(items: readonly Waiting[]): Promise<void> {
    try {
      await this.write(items.flatMap(({ results }) => results));
      for (const { resolve } of items) resolve();
    } catch (error) {
      for (const { reject } of items) reject(error);
    }
  }
}
