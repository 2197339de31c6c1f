import type { EntityManager } from 'typeorm';
import type { Logger } from '#service';
import { AHEAD, claimSql, EXPIRED, PENDING, type Claimable } from './claim-sql.js';
import { databaseNow } from './dialect.js';
import type { Database } from './database.service.js';
import { FileEntity } from './entities/scan.entity.js';
import { hydrate } from './entity-sql.js';
import { dialectOf, execute, queryRows } from './query.js';
import { placeholders } from './dialect.js';

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

  /** Prolongs claims still held; returns the ids of those, so that the caller stops work on the others. */
  async renew(workerId: string, ids: readonly number[], leaseMs = DEFAULT_LEASE_MS): Promise<number[]> {
    if (ids.length === 0) return [];
    const rows = await this.database.inTransaction((tx) =>
      queryRows<{ id: number }>(
        tx,
        `UPDATE files SET claimed_until = ${databaseNow(dialectOf(tx))} + $2
         WHERE status = 'processing' AND worker_id = $1 AND id IN (${placeholders(ids.length, 3)}) RETURNING id`,
        [workerId, leaseMs, ...ids],
      ),
    );
    return rows.map(({ id }) => id);
  }

  /** Hands back files that this worker still holds; others may claim them at once. Returns how many. */
  async release(workerId: string, ids: readonly number[]): Promise<number> {
    if (ids.length === 0) return 0;
    return this.database.inTransaction((tx) =>
      execute(
        tx,
        `UPDATE files SET status = 'pending', worker_id = NULL, claimed_until = NULL, enqueued_at = 0
         WHERE status = 'processing' AND worker_id = $1 AND id IN (${placeholders(ids.length, 2)})`,
        [workerId, ...ids],
      ),
    );
  }
}

/** Inside the caller's transaction: what expired first, then what is pending, then what a clock that was set back hides. */
async function claim(
  tx: EntityManager,
  workerId: string,
  count: number,
  options: ClaimOptions,
): Promise<FileEntity[]> {
  const { leaseMs = DEFAULT_LEASE_MS, queueGraceMs = 0, enqueuedOnly = false } = options;
  const rows: object[] = [];
  const take = async (what: Claimable, graceMs: number, after: number): Promise<void> => {
    if (rows.length >= count) return;
    const params = [workerId, leaseMs, graceMs, count - rows.length, after];
    rows.push(...(await queryRows(tx, claimSql(what, dialectOf(tx)), params)));
  };
  await take(EXPIRED, 0, ANY);
  await take(PENDING, queueGraceMs, enqueuedOnly ? NEVER : ANY);
  for (const what of AHEAD) await take(what, 0, ANY);
  return rows.map((row) => hydrate(tx, FileEntity, row));
}
