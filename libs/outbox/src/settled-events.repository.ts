import { databaseNow, execute, rowLock, type Database } from '#database';

const SKIP_LOCKED = 'FOR UPDATE SKIP LOCKED';

/**
 * Deletes up to `limit` events that were published, and confirmed where that matters, longer ago than this: a little at a
 * time, so that no transaction holds others up. The event of a batch that is not delivered stays: the batch may lie in a
 * dead letter, and is requeued by it.
 */
export function purgeOutbox(database: Database, retentionMs: number, limit: number): Promise<number> {
  const sql = `DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE status = 'PUBLISHED' AND confirmed_at IS NOT NULL
      AND published_at < ${databaseNow(database)} - $1
      AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = outbox.id AND b.completed_at IS NULL)
    ORDER BY published_at, id LIMIT $2 ${rowLock(database, SKIP_LOCKED)})`;
  return database.inTransaction((tx) => execute(tx, sql, [retentionMs, limit]));
}

/**
 * Deletes up to `limit` inbox entries older than this whose event is gone from the outbox: while the event is there it
 * may be published again, and the entry is what keeps its effect from happening twice.
 */
export function purgeInbox(database: Database, retentionMs: number, limit: number): Promise<number> {
  const sql = `DELETE FROM inbox WHERE (consumer, event_id) IN (
    SELECT consumer, event_id FROM inbox i WHERE received_at < ${databaseNow(database)} - $1
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = i.event_id)
    ORDER BY received_at LIMIT $2 ${rowLock(database, SKIP_LOCKED)})`;
  return database.inTransaction((tx) => execute(tx, sql, [retentionMs, limit]));
}
