/** One promise of the system as a query for the rows that break it. */
interface Check {
  name: string;
  /** What holds when the query finds nothing. */
  promise: string;
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
      WHERE ${NOT_REMOVED} AND f.status = 'analyzed' AND f.duplicate_of IS NULL
        AND EXISTS (SELECT 1 FROM batch_items i JOIN batches b ON b.id = i.batch_id
          WHERE i.file_id = f.id AND i.revision = f.revision AND b.completed_at IS NULL)`,
  },
  {
    name: 'delivered-is-analysed',
    promise: 'no file waits although all its parts were delivered',
    violations: `SELECT f.id, f.path, f.revision FROM files f
      WHERE ${NOT_REMOVED} AND f.status = 'batched' AND f.duplicate_of IS NULL
        AND NOT EXISTS (SELECT 1 FROM batch_items i JOIN batches b ON b.id = i.batch_id
          WHERE i.file_id = f.id AND i.revision = f.revision AND b.completed_at IS NULL)`,
  },
  {
    name: 'stale-is-queued-again',
    promise: 'a file whose content had changed before delivery is not counted as analysed in that revision',
    violations: `SELECT f.id, f.path, f.revision FROM files f JOIN analyses a ON a.file_id = f.id AND a.revision = f.revision
      WHERE ${NOT_REMOVED} AND a.outcome = 'stale' AND f.status = 'analyzed'`,
  },
];
