import { databaseNow, queryRows, type Database } from '#database';

/** Removes what nobody needs any more, a little at a time, so that no transaction holds others up. */
export class SettledEvents {
  private readonly now: string;
  private readonly lock: string;

  constructor(private readonly database: Database) {
    this.now = databaseNow(database.dialect);
    this.lock = database.dialect === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : '';
  }

  /**
   * Deletes up to `limit` events that were published, and confirmed where that matters, longer ago than this. The event of
   * a batch that is not delivered stays: the batch may lie in a dead letter, and is redriven by it.
   */
  purge(retentionMs: number, limit: number): Promise<number> {
    return this.delete(
      `DELETE FROM outbox WHERE id IN (
        SELECT id FROM outbox WHERE status = 'PUBLISHED' AND confirmed_at IS NOT NULL AND published_at < ${this.now} - $1
          AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = outbox.id AND b.completed_at IS NULL)
        ORDER BY published_at, id LIMIT $2 ${this.lock}) RETURNING id`,
      [retentionMs, limit],
    );
  }

  /**
   * Deletes up to `limit` inbox entries older than this whose event is gone from the outbox: while the event is there it
   * may be published again, and the entry is what keeps its effect from happening twice.
   */
  purgeInbox(retentionMs: number, limit: number): Promise<number> {
    return this.delete(
      `DELETE FROM inbox WHERE (consumer, event_id) IN (
        SELECT consumer, event_id FROM inbox i WHERE received_at < ${this.now} - $1
          AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = i.event_id)
        ORDER BY received_at LIMIT $2 ${this.lock}) RETURNING event_id`,
      [retentionMs, limit],
    );
  }

  private async delete(sql: string, params: readonly number[]): Promise<number> {
    return (await this.database.inTransaction((tx) => queryRows(tx, sql, params))).length;
  }
}
