import { databaseNow, type Database } from '#database';

export interface OutboxCounts {
  pending: number;
  dead: number;
  /** Published, and not yet confirmed by the consumer. */
  unconfirmed: number;
  /** Age of the oldest event that should have been published by now; 0 when there is none. */
  oldestPendingAgeMs: number;
}

/** What the outbox holds, each figure by its own partial index: published events cost nothing here. */
export async function outboxCounts(database: Database): Promise<OutboxCounts> {
  const now = databaseNow(database);
  // An event that backs off after a failure is late; one that was appended for later is not.
  const [counts] = await database.rows<OutboxCounts>(
    `SELECT (SELECT count(*) FROM outbox WHERE status = 'PENDING') AS pending,
        (SELECT count(*) FROM outbox WHERE status = 'DEAD') AS dead,
        (SELECT count(*) FROM outbox WHERE status = 'PUBLISHED' AND confirmed_at IS NULL) AS unconfirmed,
        coalesce((SELECT CASE WHEN created_at < ${now} THEN ${now} - created_at ELSE 0 END FROM outbox
          WHERE status = 'PENDING' AND (available_at <= ${now} OR attempts > 0)
          ORDER BY created_at, id LIMIT 1), 0) AS "oldestPendingAgeMs"`,
    [],
    { mayLag: true },
  );
  return counts as OutboxCounts;
}
