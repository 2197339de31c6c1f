import { databaseNow, type Dialect } from './dialect.js';

/** Files that may be claimed: in a status, past a time, in the order of the partial index that serves them. */
export interface Claimable {
  status: 'processing' | 'pending';
  past: 'claimed_until' | 'enqueued_at';
  aheadMs?: number;
}

export const EXPIRED: Claimable = { status: 'processing', past: 'claimed_until' };
export const PENDING: Claimable = { status: 'pending', past: 'enqueued_at' };
/** No claim lasts longer. */
export const LONGEST_LEASE_MS = 3_600_000;
/** Less than this the database's own clock may be apart between two statements. */
export const CLOCK_STEP_MS = 5_000;
/** Times that nobody can have written by today's clock: it was set back since, and would hide the files until it caught up. */
export const AHEAD: readonly Claimable[] = [
  { ...EXPIRED, aheadMs: LONGEST_LEASE_MS },
  { ...PENDING, aheadMs: CLOCK_STEP_MS },
];

/**
 * $1 worker, $2 lease in ms, $3 how long past in ms, $4 count, $5 the time must be greater → the claimed rows. Picks and takes in one statement: a row
 * that another claim holds locked is passed over (PostgreSQL), or there is no other claim at that moment (SQLite).
 */
export function claimSql({ status, past, aheadMs }: Claimable, dialect: Dialect): string {
  const now = databaseNow(dialect);
  const due =
    aheadMs === undefined
      ? `${past} <= ${now} - $3`
      : `${past} > ${now} + ${aheadMs} AND CAST($3 AS BIGINT) >= 0`;
  return `WITH due AS MATERIALIZED (
      SELECT id FROM files WHERE status = '${status}' AND removed = 0 AND ${past} > $5 AND ${due}
      ORDER BY ${past}, id LIMIT $4 ${dialect === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : ''}
    )
    UPDATE files SET status = 'processing', worker_id = $1, claimed_until = ${now} + $2, claims = claims + 1
    FROM due WHERE files.id = due.id RETURNING *`;
}
