import { FOLDER_AWAY } from '#database';
import { OPEN_SKIP_REASONS } from '#files';

/**
 * Something that the proof cannot speak for although no promise is broken: the tree holds it, and it was not delivered.
 * Each has a cause and a cure that a person can act on.
 */
interface ExceptionKind {
  name: string;
  cause: string;
  cure: string;
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
