import { databaseNow } from './database-time.js';
import type { Dialect } from './dialect.js';

/** Files that may be claimed: in a status, past a time, in the order of the partial index that serves them. */
export interface Claimable {
  status: 'processing' | 'pending';
  past: 'claimed_until' | 'enqueued_at';
}

export const EXPIRED: Claimable = { status: 'processing', past: 'claimed_until' };
export const PENDING: Claimable = { status: 'pending', past: 'enqueued_at' };

/**
 * $1 worker, $2 lease in ms, $3 how long past in ms, $4 count, $5 the time must be greater → the claimed rows. Picks and takes in one statement: a row
 * that another claim holds locked is passed over (PostgreSQL), or there is no other claim at that moment (SQLite).
 */
export function claimSql({ status, past }: Claimable, dialect: Dialect): string {
  const now = databaseNow(dialect);
  return `WITH due AS MATERIALIZED (
      SELECT id FROM files WHERE status = '${status}' AND removed = 0 AND ${past} > $5 AND ${past} <= ${now} - $3
      ORDER BY ${past}, id LIMIT $4 ${dialect === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : ''}
    )
    UPDATE files SET status = 'processing', worker_id = $1, claimed_until = ${now} + $2, claims = claims + 1
    FROM due WHERE files.id = due.id RETURNING *`;
}
