import { queryOne, queryRows, type Database, type EntityManager } from '#database';
import { FILE_STATES } from '#dlq-client';
import type { FileState, PipelineView, ScanView, ThroughputPoint } from '#dlq-client';

/** Roots beyond these are not shown; a pipeline has a few. */
const MAX_SCANS = 50;
/** Some tens of milliseconds of reading: SQLite has one reader, which others wait for. */
const ROWS_PER_READ = 50_000;
const MAY_LAG = { mayLag: true };

export interface LetterCount {
  queue: string;
  status: keyof PipelineView['letters'];
  n: number;
}

/** What the small tables tell, each figure by its index, and in the window what ended in each minute. */
export async function readTables(database: Database, window: Window) {
  const ended = (manager: EntityManager, sql: string): Promise<{ bucket: number; n: number }[]> =>
    queryRows(manager, sql, [beginOf(window)]);
  const { delivered, failed, ...counts } = await database.read(
    async (manager) => ({
      scans: await scansOf(manager),
      batches: await batchesOf(manager),
      delivered: await ended(manager, deliveredBy(window)),
      failed: await ended(manager, failedBy(window)),
      letters: await lettersOf(manager),
    }),
    MAY_LAG,
  );
  for (const row of delivered) addTo(window, 'delivered', row);
  for (const row of failed) addTo(window, 'failed', row);
  return counts;
}

/** Parts of files by the minute in which their batch was delivered. */
const deliveredBy = (window: Window): string =>
  `SELECT ${bucketOf('completed_at', window)} AS bucket, CAST(sum(item_count) AS bigint) AS n
   FROM batches WHERE completed_at >= $1 GROUP BY 1`;

/** Parts of files by the minute in which they became dead letters: that of a batch's event is named after it, every other is one file's. */
const failedBy = (window: Window): string =>
  `SELECT ${bucketOf('l.dead_lettered_at', window)} AS bucket, CAST(sum(coalesce(b.item_count, 1)) AS bigint) AS n
   FROM dead_letters l LEFT JOIN batches b ON b.id = substr(l.job_id, 3) AND substr(l.job_id, 1, 2) = 'e-'
   WHERE l.dead_lettered_at >= $1 GROUP BY 1`;

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

const lettersOf = (manager: EntityManager): Promise<LetterCount[]> =>
  queryRows<LetterCount>(
    manager,
    `SELECT queue, CASE WHEN resolved_at IS NULL THEN status ELSE 'resolved' END AS status, count(*) AS n
     FROM dead_letters GROUP BY 1, 2`,
  );

/** Where the files stand. */
type FileTally = Record<'files' | 'bytes', Record<FileState, number>>;

interface TallyRow {
  status: FileState;
  bucket: number;
  n: number;
  bytes: number;
}

/**
 * Counts all files, a range of ids after the other, so that nobody waits for the whole of it. Skipped files count in the minute
 * in which they were first seen, which for nearly all is that of the skip.
 */
export async function tallyFiles(database: Database, window: Window): Promise<FileTally> {
  const zeros = Object.fromEntries(FILE_STATES.map((state) => [state, 0])) as Record<FileState, number>;
  const tally = { files: zeros, bytes: { ...zeros } };
  const sql = 'SELECT max(id) AS last FROM files';
  const [newest] = await database.rows<{ last: number | null }>(sql, [], MAY_LAG);
  for (let from = 0; from < (newest?.last ?? 0); from += ROWS_PER_READ)
    for (const row of await readRange(database, from, window)) {
      tally.files[row.status] += row.n;
      tally.bytes[row.status] += row.bytes;
      addTo(window, 'skipped', row);
    }
  return tally;
}

function readRange(database: Database, from: number, window: Window): Promise<TallyRow[]> {
  const bucket = bucketOf('first_scanned_at', window);
  return database.rows<TallyRow>(
    `SELECT status, CASE WHEN status = 'skipped' AND first_scanned_at >= ${beginOf(window)} THEN ${bucket} ELSE -1 END AS bucket,
       count(*) AS n, CAST(sum(size) AS bigint) AS bytes
     FROM files WHERE id > $1 AND id <= $2 AND removed = 0 GROUP BY 1, 2`,
    [from, from + ROWS_PER_READ],
    MAY_LAG,
  );
}

export const MINUTE_MS = 60_000;
const MINUTES = 60;
/** Long enough to smooth the batches of one worker, short enough to notice that it is alone now. */
const SPEED_MINUTES = 5;

/** The last hour in whole minutes, and what ended in each. */
export type Window = ThroughputPoint[];

export const windowAt = (now: number): Window =>
  Array.from({ length: MINUTES }, (_, minute) => ({
    at: (Math.floor(now / MINUTE_MS) - MINUTES + 1 + minute) * MINUTE_MS,
    ...{ delivered: 0, failed: 0, skipped: 0 },
  }));

const beginOf = (window: Window): number => window[0]?.at ?? 0;

/** The minute of the window that a column's time is in, as SQL. */
const bucketOf = (column: string, window: Window): string =>
  `((${column} - ${beginOf(window)}) / ${MINUTE_MS})`;

export function addTo(
  window: Window,
  what: 'delivered' | 'failed' | 'skipped',
  { bucket, n }: { bucket: number; n: number },
): void {
  const point = window[bucket];
  if (point) point[what] += n;
}

/** How long the files that are left take at the speed of the last minutes, the one that runs now included. */
export function remainingMs(left: number, points: readonly ThroughputPoint[], now: number): number | null {
  if (left === 0) return 0;
  const recent = points.slice(-SPEED_MINUTES);
  const ended = recent.reduce((sum, { delivered, failed, skipped }) => sum + delivered + failed + skipped, 0);
  const first = recent.findIndex(({ delivered, failed, skipped }) => delivered + failed + skipped > 0);
  const begun = recent[first];
  return begun ? Math.ceil((left / ended) * Math.max(1_000, now - begun.at)) : null;
}
