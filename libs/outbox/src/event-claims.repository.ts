import { Injectable } from '@nestjs/common';
import {
  bulkQuery,
  columnsOf,
  Database,
  databaseNow,
  dialectOf,
  execute,
  isIn,
  listOf,
  queryRows,
  rowLock,
  storableText,
  type EntityManager,
  type OutboxEventEntity,
} from '#database';
import { CLAIMED_FIELDS, type ClaimedEvent } from './event.js';

/** An event that is published and known to be. */
export interface MarkedEvent {
  id: string;
  queue: string;
  /** From append to mark, by the database's clock. */
  latencyMs: number;
}

/** A publication that failed because of the event itself. */
interface EventFailure {
  id: string;
  error: string;
  /** How long until it is offered again; null: it is given up and waits for a person. */
  delayMs: number | null;
}

const MAX_ERROR_LENGTH = 4_000;
const CLAIMED = columnsOf<OutboxEventEntity>(CLAIMED_FIELDS, 'outbox');

/**
 * What publishers do with events. An event is one holder's at a time until its lease ends, judged by the database's clock;
 * every later write is conditional on the claim, so a holder that was too slow changes nothing.
 */
@Injectable()
export class EventClaims {
  constructor(private readonly database: Database) {}

  /**
   * Due events, oldest first; after `leaseMs` others may claim them. Those that another holder is claiming at this moment are
   * passed over, not waited for. A holder is one process, whose name no other ever has.
   */
  async claim(wanted: { holder: string; limit: number; leaseMs: number }): Promise<ClaimedEvent[]> {
    const { holder, limit, leaseMs } = wanted;
    if (this.database.dialect === 'sqlite' && !(await this.anyDue())) return [];
    const rows = await this.database.inTransaction(async (tx) => {
      await walkTheIndex(tx);
      return queryRows<ClaimedEvent>(tx, claimSql(tx), [holder, leaseMs, limit]);
    });
    return rows.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  }

  /**
   * Marks what is still this holder's and returns it; the rest will be published again under the same id. A batch is
   * marked published with its event. Events of the confirmed queues stay unconfirmed until a consumer's inbox has them;
   * those of others are settled at once.
   */
  async markPublishedIfClaimed(
    holder: string,
    ids: readonly string[],
    confirmedQueues: readonly string[],
  ): Promise<MarkedEvent[]> {
    return this.database.inTransaction(async (tx) => {
      const queues = listOf(tx, confirmedQueues);
      const marked = await queryRows<MarkedEvent>(tx, markSql(tx), [holder, listOf(tx, ids), queues]);
      await markBatches(tx, marked, confirmedQueues);
      return marked;
    });
  }

  /** Hands events back untouched: no attempt is used up, others may claim them at once. */
  async release(holder: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.database.inTransaction((tx) =>
      execute(
        tx,
        `UPDATE outbox SET claimed_by = NULL, claimed_until = 0
         WHERE ${STILL_PENDING} AND claimed_by = $1 AND id ${isIn(tx, 2)}`,
        [holder, listOf(tx, ids)],
      ),
    );
  }

  /** Uses up an attempt of each, and offers it again or gives it up. Returns the ids of those given up that were still ours. */
  async recordFailures(holder: string, failures: readonly EventFailure[]): Promise<string[]> {
    const stored = (error: string): string => storableText(error.slice(0, MAX_ERROR_LENGTH));
    const rows = failures.map(({ id, delayMs, error }) => [id, delayMs, stored(error)]);
    const columns = { id: 'text', delay: 'int', error: 'text' } as const;
    const changed = await this.database.inTransaction((tx) =>
      bulkQuery<{ id: string; status: string }>(
        tx,
        { columns, rows, alias: 'v', extra: [holder] },
        (source, [mine]) => `UPDATE outbox SET status = CASE WHEN v.delay IS NULL THEN 'DEAD' ELSE status END,
            available_at = coalesce(${databaseNow(tx)} + v.delay, available_at), attempts = attempts + 1,
            last_error = v.error, claimed_by = NULL, claimed_until = 0
          FROM ${source} WHERE outbox.id = v.id AND ${STILL_PENDING} AND claimed_by = ${mine}
          RETURNING outbox.id, outbox.status`,
      ),
    );
    return changed.flatMap(({ id, status }) => (status === 'DEAD' ? [id] : []));
  }

  /** Asked first on SQLite, where a claim takes the only write lock, so that idle publishers hold nobody up. */
  private async anyDue(): Promise<boolean> {
    const now = databaseNow('sqlite');
    const due = await this.database.rows(
      `SELECT 1 FROM outbox WHERE status = 'PENDING' AND available_at <= ${now} AND claimed_until <= ${now} LIMIT 1`,
    );
    return due.length > 0;
  }
}

/**
 * While statistics are missing or old, as they are in a table that fills and empties, PostgreSQL reads and sorts all that
 * is pending to find the oldest few. The index has them in order.
 */
export async function walkTheIndex(tx: EntityManager): Promise<void> {
  if (dialectOf(tx) === 'postgres') await queryRows(tx, "SELECT set_config('enable_sort', 'off', true)");
}

/**
 * SQL for "is pending" where rows are found by id. Said like this, it does not invite the partial indexes, which could
 * only be searched from end to end.
 */
const STILL_PENDING = "status NOT IN ('PUBLISHED', 'DEAD')";

/**
 * $1 holder, $2 lease in ms, $3 limit → the claimed rows, unordered. A keyed event is due when no older one of its key is
 * pending, be it claimed, backing off or locked by a claim in progress.
 */
export function claimSql(tx: EntityManager): string {
  // As a subquery it is evaluated once, not for every row.
  const now = `(SELECT ${databaseNow(tx)})`;
  return `WITH due AS MATERIALIZED (
      SELECT o.id FROM outbox o
      WHERE o.status = 'PENDING' AND o.available_at <= ${now} AND o.claimed_until <= ${now}
        AND (o.ordering_key IS NULL OR NOT EXISTS (
          SELECT 1 FROM outbox p WHERE p.status = 'PENDING' AND p.ordering_key = o.ordering_key
            AND (p.created_at, p.id) < (o.created_at, o.id)))
      ORDER BY o.created_at, o.id LIMIT $3 ${rowLock(tx, 'FOR UPDATE OF o SKIP LOCKED')}
    )
    UPDATE outbox SET claimed_by = $1, claimed_until = ${now} + $2
    FROM due WHERE outbox.id = due.id
    RETURNING ${CLAIMED}`;
}

/** $1 holder, $2 ids, $3 confirmed queues → the events marked. */
function markSql(tx: EntityManager): string {
  const now = `(SELECT ${databaseNow(tx)})`;
  return `UPDATE outbox SET status = 'PUBLISHED', published_at = ${now}, claimed_by = NULL, claimed_until = 0,
      confirmed_at = CASE WHEN queue ${isIn(tx, 3)} THEN NULL ELSE ${now} END
    WHERE ${STILL_PENDING} AND claimed_by = $1 AND id ${isIn(tx, 2)}
    RETURNING id, queue, published_at - created_at AS "latencyMs"`;
}

/** An event that consumers confirm has the id of what it tells of: for a batch event, the batch's. */
async function markBatches(
  tx: EntityManager,
  marked: readonly MarkedEvent[],
  confirmedQueues: readonly string[],
): Promise<void> {
  const ids = marked.filter(({ queue }) => confirmedQueues.includes(queue)).map(({ id }) => id);
  if (ids.length === 0) return;
  const sql = `UPDATE batches SET published_at = ${databaseNow(tx)} WHERE id ${isIn(tx, 1)} AND published_at IS NULL`;
  await execute(tx, sql, [listOf(tx, ids)]);
}
