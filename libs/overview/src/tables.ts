import { queryOne, queryRows, type Database, type EntityManager } from '#database';
import type { PipelineView, ScanView } from '#dlq-client';
import { bucketOf, type Window } from './window.js';

/** Roots beyond these are not shown; a pipeline has a few. */
const MAX_SCANS = 50;

export interface TableCounts {
  scans: ScanView[];
  batches: PipelineView['batches'];
  /** Parts of files by the minute in which their batch was delivered, or became a dead letter. */
  delivered: Map<number, number>;
  failed: Map<number, number>;
  letters: LetterCount[];
}

export interface LetterCount {
  queue: string;
  status: keyof PipelineView['letters'];
  n: number;
}

/** What the small tables tell, each figure by its index. */
export function readTables(database: Database, window: Window): Promise<TableCounts> {
  return database.read(
    async (manager) => ({
      scans: await scansOf(manager),
      batches: await batchesOf(manager),
      delivered: await deliveredOf(manager, window),
      failed: await failedOf(manager, window),
      letters: await lettersOf(manager),
    }),
    { mayLag: true },
  );
}

interface ScanRow extends Omit<ScanView, 'folders' | 'files' | 'bytes' | 'enqueued' | 'errors'> {
  counters: string;
  before: string | null;
}

async function scansOf(manager: EntityManager): Promise<ScanView[]> {
  const rows = await queryRows<ScanRow>(
    manager,
    `SELECT r.path AS root, s.outcome, s.worker_id AS worker, s.started_at AS "startedAt", s.finished_at AS "finishedAt",
       s.counters, (SELECT p.counters FROM scans p WHERE p.root_id = r.id AND p.id < s.id AND p.outcome = 'completed'
         ORDER BY p.id DESC LIMIT 1) AS before
     FROM roots r JOIN scans s ON s.id = (SELECT max(l.id) FROM scans l WHERE l.root_id = r.id)
     ORDER BY s.id DESC LIMIT ${MAX_SCANS}`,
  );
  return rows.map(({ counters, before, ...scan }) => ({
    ...scan,
    ...counted(counters),
    expectedFiles: before === null ? null : counted(before).files,
  }));
}

function counted(counters: string): Pick<ScanView, 'folders' | 'files' | 'bytes' | 'enqueued' | 'errors'> {
  const told = JSON.parse(counters) as Partial<Record<string, number>>;
  const { folders = 0, files = 0, bytes = 0, enqueued = 0, errors = 0 } = told;
  return { folders, files, bytes, enqueued, errors };
}

async function batchesOf(manager: EntityManager): Promise<PipelineView['batches']> {
  const row = await queryOne<{ total: number; open: number; used: number | null; room: number | null }>(
    manager,
    `SELECT count(*) AS total, (SELECT count(*) FROM batches WHERE completed_at IS NULL) AS open,
       CAST(sum(total_tokens) AS bigint) AS used, CAST(sum(max_tokens) AS bigint) AS room FROM batches`,
  );
  const { total, open, used, room } = row;
  return { total, open, meanFill: used !== null && room ? Math.round((used / room) * 1_000) / 1_000 : null };
}

const deliveredOf = (manager: EntityManager, window: Window): Promise<Map<number, number>> =>
  buckets(
    manager,
    `SELECT ${bucketOf('completed_at', window)} AS bucket, CAST(sum(item_count) AS bigint) AS n
     FROM batches WHERE completed_at >= $1 GROUP BY 1`,
    window,
  );

// The job of a batch's event is named after it; every other letter is one file's.
const failedOf = (manager: EntityManager, window: Window): Promise<Map<number, number>> =>
  buckets(
    manager,
    `SELECT ${bucketOf('l.dead_lettered_at', window)} AS bucket, CAST(sum(coalesce(b.item_count, 1)) AS bigint) AS n
     FROM dead_letters l LEFT JOIN batches b ON b.id = substr(l.job_id, 3) AND substr(l.job_id, 1, 2) = 'e-'
     WHERE l.dead_lettered_at >= $1 GROUP BY 1`,
    window,
  );

async function buckets(manager: EntityManager, sql: string, { since }: Window): Promise<Map<number, number>> {
  const rows = await queryRows<{ bucket: number; n: number }>(manager, sql, [since]);
  return new Map(rows.map(({ bucket, n }) => [bucket, n]));
}

const lettersOf = (manager: EntityManager): Promise<LetterCount[]> =>
  queryRows<LetterCount>(
    manager,
    `SELECT queue, CASE WHEN resolved_at IS NULL THEN status ELSE 'resolved' END AS status, count(*) AS n
     FROM dead_letters GROUP BY 1, 2`,
  );
