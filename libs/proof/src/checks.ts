import { FOLDER_AWAY } from '#database';
import { OPEN_SKIP_REASONS } from '#files';

type Broken = Record<string, unknown>;

export interface CheckResult {
  name: string;
  /** What holds when nothing breaks it. */
  promise: string;
  ok: boolean;
  /** How many rows break it; `rows` holds the first of them. */
  violations: number;
  rows: Broken[];
}

/** What the proof does not cover, for one cause. */
export interface Exception extends Found<PathDetail> {
  name: string;
  cause: string;
  cure: string;
}

export interface PathDetail {
  path: string;
  detail: string | null;
}

/** How many rows of one kind there are, and the first of them. */
export interface Found<Row> {
  count: number;
  rows: Row[];
}

/** Counts all rows of one kind and keeps the first of them. */
export class Finding<Row> implements Found<Row> {
  count = 0;
  readonly rows: Row[] = [];

  constructor(private readonly limit: number) {}

  add(row: Row): void {
    this.count++;
    if (this.rows.length < this.limit) this.rows.push(row);
  }
}

export function asCheck({ count, rows }: Found<Broken>, name: string, promise: string): CheckResult {
  return { name, promise, ok: count === 0, violations: count, rows };
}

/** One promise of the system as a query for the rows that break it. */
interface Check extends Pick<CheckResult, 'name' | 'promise'> {
  /** Rows that break the promise; each becomes one line of the report. */
  violations: string;
}

const NOT_REMOVED = 'f.removed = 0';

/** Whether `path` is that of `folder` and one more name. */
function below(path: string, folder: string): string {
  const start = `CASE WHEN ${folder} = '/' THEN '/' ELSE ${folder} || '/' END`;
  return `substr(${path}, 1, length(${start})) = ${start} AND substr(${path}, length(${start}) + 1) NOT LIKE '%/%'`;
}

/** A delivery that failed for good is known to somebody: a dead letter that is not discarded in silence, or a DEAD event. */
const HAS_LETTER = `EXISTS (SELECT 1 FROM dead_letters d WHERE d.job_id = 'f-' || f.id || '-' || f.revision)
    OR EXISTS (SELECT 1 FROM batch_items i JOIN dead_letters d ON d.job_id = 'e-' || i.batch_id
      WHERE i.file_id = f.id AND i.revision = f.revision)
    OR EXISTS (SELECT 1 FROM batch_items i JOIN outbox o ON o.id = i.batch_id AND o.status = 'DEAD'
      WHERE i.file_id = f.id AND i.revision = f.revision)`;

/** Whether a part of the file's revision waits in a batch that is not delivered. */
const HAS_OPEN_BATCH = `EXISTS (SELECT 1 FROM batch_items i JOIN batches b ON b.id = i.batch_id
          WHERE i.file_id = f.id AND i.revision = f.revision AND b.completed_at IS NULL)`;

export const CHECKS: readonly Check[] = [
  {
    name: 'skipped-with-reason',
    promise: 'every skipped file has a reason',
    violations: `SELECT f.id, f.path FROM files f WHERE ${NOT_REMOVED} AND f.status = 'skipped' AND coalesce(f.skip_reason, '') = ''`,
  },
  {
    name: 'failed-with-letter',
    promise: 'every failed file has a dead letter',
    violations: `SELECT f.id, f.path, f.error_status FROM files f
      WHERE ${NOT_REMOVED} AND f.status = 'failed' AND NOT (${HAS_LETTER})`,
  },
  {
    name: 'batched-in-a-batch',
    promise: 'every batched or analysed file is in a batch',
    violations: `SELECT f.id, f.path, f.revision, f.status FROM files f
      WHERE ${NOT_REMOVED} AND f.status IN ('batched', 'analyzed') AND f.duplicate_of IS NULL
        AND NOT EXISTS (SELECT 1 FROM batch_items i
          WHERE i.file_id = f.id AND i.revision = coalesce(f.sent_revision, f.revision))`,
  },
  {
    name: 'in-its-folder',
    promise: 'every file lies in its folder, and every folder in the one above it',
    violations: `SELECT f.id, f.path, d.path AS folder FROM files f JOIN folders d ON d.id = f.folder_id
      WHERE ${NOT_REMOVED} AND f.path_bytes IS NULL AND d.path_bytes IS NULL AND NOT (${below('f.path', 'd.path')})
      UNION ALL SELECT d.id, d.path, p.path AS folder FROM folders d JOIN folders p ON p.id = d.parent_id
      WHERE d.removed = 0 AND d.path_bytes IS NULL AND p.path_bytes IS NULL AND NOT (${below('d.path', 'p.path')})`,
  },
  {
    name: 'sent-as-recorded',
    promise: 'what was sent of a whole file is what is recorded of it',
    // coalesce: SQLite would go through all files by the index of their hashes, and read each from another place.
    violations: `SELECT f.id, f.path, f.hash_value, i.content_hash FROM files f
      JOIN batch_items i ON i.file_id = f.id AND i.revision = coalesce(f.sent_revision, f.revision)
      WHERE ${NOT_REMOVED} AND f.status = 'analyzed' AND i.parts = 1 AND f.hash_algorithm = 'sha256'
        AND coalesce(f.hash_value, i.content_hash) <> i.content_hash`,
  },
  {
    name: 'one-batch',
    promise: 'every part of a file revision is in exactly one batch',
    violations: `SELECT file_id, revision, part, count(*) AS times FROM batch_items
      GROUP BY file_id, revision, part HAVING count(*) > 1`,
  },
  {
    name: 'all-parts',
    promise: 'the parts of a split file are all there and its bytes are covered without gap or overlap',
    violations: `SELECT file_id, revision, count(*) AS found, max(parts) AS expected FROM batch_items
      GROUP BY file_id, revision
      HAVING count(*) <> max(parts) OR min(parts) <> max(parts) OR min(byte_start) <> 0
        OR sum(byte_end - byte_start) <> max(byte_end)`,
  },
  {
    name: 'within-budget',
    promise: 'no batch exceeds its token budget',
    violations: 'SELECT id, total_tokens, max_tokens FROM batches WHERE total_tokens > max_tokens',
  },
  {
    name: 'whole-batches',
    promise: 'every batch has all its items, and their tokens fit its total',
    violations: `SELECT b.id, b.item_count, count(i.file_id) AS found, b.total_tokens, coalesce(sum(i.tokens), 0) AS tokens
      FROM batches b LEFT JOIN batch_items i ON i.batch_id = b.id
      GROUP BY b.id, b.item_count, b.total_tokens
      HAVING count(i.file_id) <> b.item_count OR count(i.file_id) = 0 OR coalesce(sum(i.tokens), 0) > b.total_tokens`,
  },
  {
    name: 'one-event',
    promise: 'every batch that is not delivered yet has its event',
    violations: `SELECT b.id FROM batches b
      WHERE b.completed_at IS NULL AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = b.id)`,
  },
  {
    name: 'one-effect',
    promise: 'every delivered batch has one recorded effect for each of its items',
    violations: `SELECT b.id, b.item_count, count(a.file_id) AS effects FROM batches b
      LEFT JOIN analyses a ON a.batch_id = b.id
      WHERE b.completed_at IS NOT NULL GROUP BY b.id, b.item_count HAVING count(a.file_id) <> b.item_count`,
  },
  {
    name: 'no-effect-without-delivery',
    promise: 'nothing is recorded for a batch that was not delivered',
    violations: `SELECT a.batch_id, count(*) AS effects FROM analyses a JOIN batches b ON b.id = a.batch_id
      WHERE b.completed_at IS NULL GROUP BY a.batch_id`,
  },
  {
    name: 'analysed-is-delivered',
    promise: 'every analysed file was delivered in all its parts',
    violations: `SELECT f.id, f.path, f.revision FROM files f
      WHERE ${NOT_REMOVED} AND f.status = 'analyzed' AND f.duplicate_of IS NULL AND ${HAS_OPEN_BATCH}`,
  },
  {
    name: 'delivered-is-analysed',
    promise: 'no file waits although all its parts were delivered',
    violations: `SELECT f.id, f.path, f.revision FROM files f
      WHERE ${NOT_REMOVED} AND f.status = 'batched' AND f.duplicate_of IS NULL AND NOT ${HAS_OPEN_BATCH}`,
  },
  {
    name: 'stale-is-queued-again',
    promise: 'a file whose content had changed before delivery is not counted as analysed in that revision',
    violations: `SELECT f.id, f.path, f.revision FROM files f JOIN analyses a ON a.file_id = f.id AND a.revision = f.revision
      WHERE ${NOT_REMOVED} AND a.outcome = 'stale' AND f.status = 'analyzed'`,
  },
];

/**
 * Something that the proof cannot speak for although no promise is broken: the tree holds it, and it was not delivered.
 * Each has a cause and a cure that a person can act on.
 */
interface ExceptionKind extends Pick<Exception, 'name' | 'cause' | 'cure'> {
  /** Rows `path`, `detail`; every row is one exception. */
  found: string;
}

const LAST_SCAN = 'NOT EXISTS (SELECT 1 FROM scans n WHERE n.root_id = s.root_id AND n.id > s.id)';

export const EXCEPTIONS: readonly ExceptionKind[] = [
  {
    name: 'failed',
    cause: 'failed for good',
    cure: 'see `millrace dlq groups`, fix the cause, then `millrace run … --retry-failed` or `millrace dlq requeue`',
    found: `SELECT f.path, f.error_status AS detail FROM files f WHERE f.removed = 0 AND f.status = 'failed' ORDER BY f.id`,
  },
  {
    name: 'not-readable',
    cause: 'could not be read',
    cure: 'make it readable (permissions, mount, a writer that never pauses) and run again',
    found: `SELECT f.path, coalesce(f.error_status, f.skip_reason) AS detail FROM files f
      WHERE f.removed = 0 AND f.status = 'skipped' AND f.skip_reason IN (${OPEN_SKIP_REASONS.map((reason) => `'${reason}'`).join(', ')})
      ORDER BY f.id`,
  },
  {
    name: 'folder-away',
    cause: 'waits for its folder or mount, which is away',
    cure: 'bring it back and run again; if it is gone on purpose, scan again',
    found: `SELECT f.path, f.error_status AS detail FROM files f
      WHERE f.removed = 0 AND f.status = 'pending' AND f.error_status = '${FOLDER_AWAY}' ORDER BY f.id`,
  },
  {
    name: 'folder-not-listed',
    cause: 'folder could not be listed; what is below it is unknown',
    cure: 'make it readable and run again, or leave it out with --exclude',
    found: `SELECT d.path, d.error_status AS detail FROM folders d
      WHERE d.removed = 0 AND d.error_status IS NOT NULL ORDER BY d.id`,
  },
  {
    name: 'scan-not-completed',
    cause: 'the last scan of this directory did not complete',
    cure: 'fix what its error names and scan again',
    found: `SELECT r.path, s.outcome || coalesce(': ' || s.error, '') AS detail FROM scans s JOIN roots r ON r.id = s.root_id
      WHERE s.outcome IN ('refused', 'failed') AND ${LAST_SCAN} ORDER BY r.id`,
  },
];

/** Scans that are running or were cut off: the next one goes on, so their files are on their way. */
export const UNFINISHED_SCANS = `SELECT count(*) FROM scans s WHERE s.outcome IN ('running', 'interrupted') AND ${LAST_SCAN}`;
