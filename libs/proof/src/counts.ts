import { FOLDER_AWAY, queryOne, queryRows, type Database, type EntityManager } from '#database';
import { UNFINISHED_SCANS } from './checks.js';

/** Where the files of the database stand. */
export interface FleetCounts {
  files: Record<string, number>;
  bytes: Record<string, number>;
  /** Of the files that were delivered. */
  tokens: number;
  batches: number;
  batchesOpen: number;
  eventsPending: number;
  eventsDead: number;
  lettersOpen: number;
  /** Roots whose last scan runs or was cut off: some of their files are not known yet. */
  scansUnfinished: number;
}

/** Counts that read the whole of `files`; ask at a rate that fits its size. */
export function readCounts(database: Database): Promise<FleetCounts> {
  return database.read(countsOf);
}

export async function countsOf(manager: EntityManager): Promise<FleetCounts> {
  const states = await queryRows<{ status: string; n: number; bytes: number; tokens: number | null }>(
    manager,
    `SELECT status, count(*) AS n, coalesce(sum(size), 0) AS bytes, sum(token_count) AS tokens
       FROM files WHERE removed = 0 GROUP BY status`,
  );
  const others = await queryOne<Omit<FleetCounts, 'files' | 'bytes' | 'tokens'>>(
    manager,
    `SELECT (SELECT count(*) FROM batches) AS batches,
              (SELECT count(*) FROM batches WHERE completed_at IS NULL) AS "batchesOpen",
              (SELECT count(*) FROM outbox WHERE status = 'PENDING') AS "eventsPending",
              (SELECT count(*) FROM outbox WHERE status = 'DEAD') AS "eventsDead",
              (SELECT count(*) FROM dead_letters WHERE status = 'open') AS "lettersOpen",
              (${UNFINISHED_SCANS}) AS "scansUnfinished"`,
  );
  return {
    files: Object.fromEntries(states.map(({ status, n }) => [status, n])),
    bytes: Object.fromEntries(states.map(({ status, bytes }) => [status, bytes])),
    tokens: states.find(({ status }) => status === 'analyzed')?.tokens ?? 0,
    ...others,
  };
}

/**
 * Whether anything is still on its way, but for files that wait for a folder that is away: a look at partial indexes, cheap
 * at any size. A batch that was refused is not, nor one whose event nobody could publish, nor one whose files have all
 * changed since.
 */
export async function isDrained(
  database: Database,
  { delivering }: { delivering: boolean },
): Promise<boolean> {
  const delivery = `OR EXISTS (SELECT 1 FROM outbox WHERE status = 'PENDING')
    OR EXISTS (SELECT 1 FROM batches b JOIN batch_items i ON i.batch_id = b.id JOIN files f ON f.id = i.file_id
      WHERE b.completed_at IS NULL AND f.revision = i.revision AND f.status = 'batched'
        AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = b.id AND o.status = 'DEAD'))`;
  const [found] = await database.rows<{ busy: number | boolean }>(
    `SELECT EXISTS (SELECT 1 FROM files WHERE status = 'pending' AND removed = 0
        AND coalesce(error_status, '') <> '${FOLDER_AWAY}')
      OR EXISTS (SELECT 1 FROM files WHERE status = 'processing' AND removed = 0)
      ${delivering ? delivery : ''} AS busy`,
  );
  return !found?.busy;
}

export function skipReasons(database: Database): Promise<{ reason: string; files: number }[]> {
  return database.rows(`SELECT coalesce(skip_reason, 'no reason recorded') AS reason, count(*) AS files FROM files
       WHERE removed = 0 AND status = 'skipped' GROUP BY skip_reason ORDER BY count(*) DESC, skip_reason`);
}
