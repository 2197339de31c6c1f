import { Fences, type Database, type TransactionOptions, type Work } from '#database';
import type { Lease } from './lease.js';

/**
 * Fences from the database, and writes conditional on them. A write commits only if no later lease on the key exists at
 * the commit; otherwise it rejects with LeaseLostError and nothing of it was written. It closes the pause between a check
 * of the lease and the write, which no check can.
 */
export class DatabaseFences {
  private readonly fences = new Fences();

  constructor(private readonly database: Database) {}

  /**
   * A number that orders the holders of a key: greater than every one issued for it before, whatever happens to Redis; so
   * it must not be kept there. Settles within the limit of a transaction.
   */
  issue(key: string): Promise<number> {
    return this.database.inTransaction((tx) => this.fences.issueFence(tx, key));
  }

  /** Runs `work` in one transaction (or in the caller's), together with the check of the fence. */
  writeIfFence<T>(lease: Lease, work: Work<T>, options?: TransactionOptions): Promise<T> {
    return lease.guard(() =>
      this.database.inTransaction(async (tx) => {
        await this.fences.assertFence(tx, lease.key, lease.fence);
        return work(tx);
      }, options),
    );
  }
}
