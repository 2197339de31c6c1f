import { In, type EntityManager } from 'typeorm';
import type { Logger } from '#service';
import type { Database } from './database.service.js';
import { FileEntity } from './entities/scan.entity.js';
import { databaseNow, execute, isIn, listOf, queryRows, rowLock, type Asked } from './query.js';

interface ClaimOptions {
  /** How long the claim holds; then the file may be claimed by others. */
  leaseMs?: number;
  /** Leaves pending files alone whose job entered the queue less than this ago: the queue is bringing them. */
  queueGraceMs?: number;
  /** Leaves files alone whose job has not entered the queue yet. */
  enqueuedOnly?: boolean;
}

const DEFAULT_LEASE_MS = 60_000;
// What `enqueued_at` is greater than: of every file, and of those whose job entered the queue at some time.
const ANY = -1;
const NEVER = 0;

/**
 * Hands pending files to workers without the queue. A file is held by one worker at a time: until the lease ends it is
 * nobody else's, and what a dead worker held is handed out again after it. Leases are judged by the database's clock.
 */
export class FileClaims {
  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  /** One file, now `processing` and this worker's; null when there is none, or on an error (logged, nothing claimed). */
  async getNextFile(workerId: string, options: ClaimOptions = {}): Promise<FileEntity | null> {
    const [file] = await this.getNextFiles(workerId, 1, options);
    return file ?? null;
  }

  /** Up to `count` files, claimed together; none when there are none, or on an error (logged, nothing claimed). */
  async getNextFiles(workerId: string, count: number, options: ClaimOptions = {}): Promise<FileEntity[]> {
    try {
      return await this.database.inTransaction((tx) => claim(tx, workerId, count, options));
    } catch (error) {
      this.logger.error({ err: error, workerId }, 'error in getNextFile transaction; nothing was claimed');
      return [];
    }
  }

  /** Hands back files that this worker still holds; others may claim them at once. Returns how many. */
  async release(workerId: string, ids: readonly number[]): Promise<number> {
    if (ids.length === 0) return 0;
    return this.database.inTransaction((tx) =>
      execute(
        tx,
        `UPDATE files SET status = 'pending', worker_id = NULL, claimed_until = NULL, enqueued_at = 0
         WHERE status = 'processing' AND worker_id = $1 AND id ${isIn(tx, 2, 'bigint')}`,
        [workerId, listOf(tx, ids)],
      ),
    );
  }
}

/** Inside the caller's transaction: what expired first, then what is pending, then what a clock that was set back hides. */
async function claim(tx: EntityManager, workerId: string, count: number, options: ClaimOptions) {
  const { leaseMs = DEFAULT_LEASE_MS, queueGraceMs = 0, enqueuedOnly = false } = options;
  const ids: number[] = [];
  const take = async (what: Claimable, graceMs: number, after: number): Promise<void> => {
    if (ids.length >= count) return;
    const params = [workerId, leaseMs, graceMs, count - ids.length, after];
    const claimed = await queryRows<{ id: number }>(tx, claimSql(what, tx), params);
    ids.push(...claimed.map(({ id }) => id));
  };
  await take(EXPIRED, 0, ANY);
  await take(PENDING, queueGraceMs, enqueuedOnly ? NEVER : ANY);
  for (const what of AHEAD) await take(what, 0, ANY);
  return ids.length === 0 ? [] : tx.findBy(FileEntity, { id: In(ids) });
}

/** Files that may be claimed: in a status, past a time, in the order of the partial index that serves them. */
interface Claimable {
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
const AHEAD: readonly Claimable[] = [
  { ...EXPIRED, aheadMs: LONGEST_LEASE_MS },
  { ...PENDING, aheadMs: CLOCK_STEP_MS },
];

/**
 * $1 worker, $2 lease in ms, $3 how long past in ms, $4 count, $5 the time must be greater → the ids of the claimed. Picks and takes in one statement: a row
 * that another claim holds locked is passed over (PostgreSQL), or there is no other claim at that moment (SQLite).
 */
export function claimSql({ status, past, aheadMs }: Claimable, asked: Asked): string {
  const now = databaseNow(asked);
  const due =
    aheadMs === undefined
      ? `${past} <= ${now} - $3`
      : `${past} > ${now} + ${aheadMs} AND CAST($3 AS BIGINT) >= 0`;
  return `WITH due AS MATERIALIZED (
      SELECT id FROM files WHERE status = '${status}' AND removed = 0 AND ${past} > $5 AND ${due}
      ORDER BY ${past}, id LIMIT $4 ${rowLock(asked, 'FOR UPDATE SKIP LOCKED')}
    )
    UPDATE files SET status = 'processing', worker_id = $1, claimed_until = ${now} + $2, claims = claims + 1
    FROM due WHERE files.id = due.id RETURNING files.id`;
}
