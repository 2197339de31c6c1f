import {
  queryOne,
  queryRows,
  rowLock,
  type Database,
  type EntityManager,
  type TransactionOptions,
  type Work,
} from '#database';
import type { Lease } from './lease.js';
import { StaleFenceError } from './locking.errors.js';

/**
 * Fences from the database, and writes conditional on them. A write commits only if no later lease on the key exists at
 * the commit; otherwise it rejects with LeaseLostError and nothing of it was written. It closes the pause between a check
 * of the lease and the write, which no check can.
 */
export class DatabaseFences {
  constructor(private readonly database: Database) {}

  /**
   * A number that orders the holders of a key: greater than every one issued for it before, whatever happens to Redis,
   * which may be flushed and would begin again at 1. Whoever holds an older one can write no more once this commits.
   */
  async issue(key: string): Promise<number> {
    const sql = `INSERT INTO fences (key, fence) VALUES ($1, 1)
      ON CONFLICT (key) DO UPDATE SET fence = fences.fence + 1 RETURNING fence`;
    const issued = await this.database.inTransaction((tx) => queryOne<{ fence: number }>(tx, sql, [key]));
    return issued.fence;
  }

  /**
   * Makes the transaction's writes conditional on the fence: throws StaleFenceError, which rolls them back, unless it is
   * still the newest. The row stays locked until the end, so no newer fence can be issued between check and commit.
   */
  async assert(tx: EntityManager, { key, fence }: Pick<Lease, 'key' | 'fence'>): Promise<void> {
    const sql = `SELECT fence FROM fences WHERE key = $1 ${rowLock(tx, 'FOR SHARE')}`;
    const [row] = await queryRows<{ fence: number }>(tx, sql, [key]);
    if (row?.fence !== fence) throw new StaleFenceError(key, fence, row?.fence);
  }

  /** Runs `work` in one transaction (or in the caller's), together with the check of the fence. */
  writeIfFence<T>(lease: Lease, work: Work<T>, options?: TransactionOptions): Promise<T> {
    return lease.guard(() =>
      this.database.inTransaction(async (tx) => {
        await this.assert(tx, lease);
        return work(tx);
      }, options),
    );
  }
}
