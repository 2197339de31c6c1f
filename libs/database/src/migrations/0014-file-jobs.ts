import type { Migration } from './migration.js';

/**
 * Which job brings a file. Null, as in rows from before: a job of its own, `f-<id>-<revision>`. The index of waiting files
 * holds it too, so that recovery counts jobs without reading rows.
 */
export const fileJobs: Migration = {
  version: 14,
  name: 'file-jobs',
  statements: () => [
    'ALTER TABLE files ADD COLUMN job_id TEXT',
    'DROP INDEX files_pending',
    "CREATE INDEX files_pending ON files (enqueued_at, id, job_id) WHERE status = 'pending' AND removed = 0",
  ],
};
