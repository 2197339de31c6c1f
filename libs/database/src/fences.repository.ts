import type { EntityManager } from 'typeorm';
import { StaleFenceError } from './database.errors.js';
import type { FenceEntity } from './entities/message.entity.js';
import { columnsOf } from './entity-sql.js';
import { dialectOf, queryOne, queryRows } from './query.js';

const FENCE = columnsOf<FenceEntity>(['key', 'fence']);

/**
 * Numbers that grow with every acquisition of a key. The database issues them, because the store that holds the locks may
 * be flushed and would begin again at 1.
 */
export class Fences {
  /** A fence greater than all issued for the key before. Whoever holds an older one can write no more once this commits. */
  async issueFence(tx: EntityManager, key: string): Promise<number> {
    const { fence } = await queryOne<FenceEntity>(
      tx,
      `INSERT INTO fences (key, fence) VALUES ($1, 1)
       ON CONFLICT (key) DO UPDATE SET fence = fences.fence + 1 RETURNING ${FENCE}`,
      [key],
    );
    return fence;
  }

  /**
   * Makes the transaction's writes conditional on the fence: throws StaleFenceError, which rolls them back, unless it is
   * still the newest. The row stays locked until the end, so no newer fence can be issued between check and commit.
   */
  async assertFence(tx: EntityManager, key: string, fence: number): Promise<void> {
    const lock = dialectOf(tx) === 'postgres' ? 'FOR SHARE' : '';
    const [row] = await queryRows<FenceEntity>(tx, `SELECT ${FENCE} FROM fences WHERE key = $1 ${lock}`, [
      key,
    ]);
    if (row?.fence !== fence) throw new StaleFenceError(key, fence, row?.fence);
  }
}
