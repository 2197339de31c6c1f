import type { Repository, SelectQueryBuilder } from 'typeorm';
import { isIn, listOf, OutboxEventEntity, queryRows, type Database, type EntityManager } from '#database';
import { requireTransaction } from './append.js';
import { wakePublishers } from './postgres-wake-up.js';

/** An event given up by publishers, waiting for a person. */
export type DeadEvent = OutboxEventEntity;

/** Events whose attempts are used up: listed, and requeued in the caller's transaction beside its audit entry. */
export class DeadEvents {
  private readonly events: Repository<OutboxEventEntity>;

  constructor(database: Database) {
    this.events = database.repository(OutboxEventEntity);
  }

  /** Oldest first; `after` is the last event of the page before. */
  list(page: {
    limit: number;
    after?: Pick<DeadEvent, 'createdAt' | 'id'>;
    queue?: string;
  }): Promise<DeadEvent[]> {
    const { limit, after, queue } = page;
    const dead = this.dead().orderBy('event.createdAt').addOrderBy('event.id').limit(limit);
    if (after) dead.andWhere('(event.createdAt, event.id) > (:createdAt, :id)', after);
    if (queue !== undefined) dead.andWhere({ queue });
    return dead.getMany();
  }

  get(tx: EntityManager, id: string): Promise<DeadEvent | null> {
    return tx.withRepository(this.events).findOneBy({ status: 'DEAD', id });
  }

  count(): Promise<number> {
    return this.dead().getCount();
  }

  private dead(): SelectQueryBuilder<DeadEvent> {
    // As a literal: SQLite does not look a parameter up in an index of the dead alone.
    return this.events.createQueryBuilder('event').where("event.status = 'DEAD'");
  }

  /** Offers dead events again, with all their attempts. Returns the ids of those that were dead. */
  async requeue(tx: EntityManager, ids: readonly string[]): Promise<string[]> {
    requireTransaction(tx, 'DeadEvents.requeue');
    const requeued = await queryRows<{ id: string }>(
      tx,
      `UPDATE outbox SET status = 'PENDING', attempts = 0, available_at = 0, claimed_by = NULL, claimed_until = 0
       WHERE status = 'DEAD' AND id ${isIn(tx, 1)} RETURNING id`,
      [listOf(tx, ids)],
    );
    if (requeued.length > 0) await wakePublishers(tx);
    return requeued.map(({ id }) => id);
  }
}
