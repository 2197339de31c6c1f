import { dialectOf, queryOne, queryRows, type Database, type EntityManager } from '#database';
import { requireTransaction } from './append.js';
import { idIn, idList } from './id-list.js';
import { NOTIFY } from './postgres-wake-up.js';

/** An event given up by publishers, waiting for a person. */
export interface DeadEvent {
  id: string;
  queue: string;
  eventName: string;
  /** As stored: an event may be dead because its payload cannot be read. */
  payload: string;
  orderingKey: string | null;
  createdAt: number;
  attempts: number;
  lastError: string | null;
  trace: string | null;
}

export interface DeadEventsQuery {
  limit: number;
  /** The last event of the page before. */
  after?: Pick<DeadEvent, 'createdAt' | 'id'>;
  queue?: string;
}

const COLUMNS = `id, queue, event_name AS "eventName", payload, ordering_key AS "orderingKey",
  created_at AS "createdAt", attempts, last_error AS "lastError", trace`;

/** Events whose attempts are used up: listed, and revived in the caller's transaction beside its audit entry. */
export class DeadEvents {
  constructor(private readonly database: Database) {}

  /** Oldest first. */
  list({ limit, after, queue }: DeadEventsQuery): Promise<DeadEvent[]> {
    return this.database.read((manager) =>
      queryRows<DeadEvent>(
        manager,
        `SELECT ${COLUMNS} FROM outbox WHERE status = 'DEAD' AND (created_at, id) > ($1, $2)
           ${queue === undefined ? '' : 'AND queue = $4'}
         ORDER BY created_at, id LIMIT $3`,
        [after?.createdAt ?? -1, after?.id ?? '', limit, ...(queue === undefined ? [] : [queue])],
      ),
    );
  }

  async get(id: string): Promise<DeadEvent | null> {
    const [event] = await this.database.read((manager) =>
      queryRows<DeadEvent>(manager, `SELECT ${COLUMNS} FROM outbox WHERE status = 'DEAD' AND id = $1`, [id]),
    );
    return event ?? null;
  }

  async count(): Promise<number> {
    const { n } = await this.database.read((manager) =>
      queryOne<{ n: number }>(manager, "SELECT count(*) AS n FROM outbox WHERE status = 'DEAD'"),
    );
    return n;
  }

  /** Offers dead events again, with all their attempts. Returns the ids of those that were dead. */
  async revive(tx: EntityManager, ids: readonly string[]): Promise<string[]> {
    requireTransaction(tx, 'DeadEvents.revive');
    const revived = await queryRows<{ id: string }>(
      tx,
      `UPDATE outbox SET status = 'PENDING', attempts = 0, available_at = 0, claimed_by = NULL, claimed_until = 0
       WHERE status = 'DEAD' AND id ${idIn(tx, 1)} RETURNING id`,
      [idList(tx, ids)],
    );
    if (revived.length > 0 && dialectOf(tx) === 'postgres') await queryRows(tx, NOTIFY);
    return revived.map(({ id }) => id);
  }
}
