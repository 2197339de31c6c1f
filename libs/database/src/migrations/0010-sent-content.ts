import type { Migration } from './migration.js';

/**
 * What was last batched for a path, so that the same content is not sent again whatever its stat says. The device leaves the
 * identity of a file: a mount has another number each time. Indexes for the few files that a scan looks at again, and for
 * the copies of a file.
 */
export const sentContent: Migration = {
  version: 10,
  name: 'sent-content',
  statements: ({ dialect, int }) => [
    `ALTER TABLE files ADD COLUMN sent_revision ${int}`,
    'ALTER TABLE files ADD COLUMN sent_hash TEXT',
    `UPDATE files SET sent_revision = revision, sent_hash = hash_value
     WHERE status IN ('batched', 'analyzed') AND hash_algorithm = 'sha256'`,
    `UPDATE files SET inode = ${dialect === 'sqlite' ? "substr(inode, instr(inode, ':') + 1)" : "split_part(inode, ':', 2)"}
     WHERE inode LIKE '%:%'`,
    `CREATE INDEX files_open_skips ON files (root_id, folder_id) WHERE status = 'skipped' AND removed = 0
       AND skip_reason IN ('vanished', 'not-a-file', 'outside-root', 'changed', 'unreadable')`,
    'CREATE INDEX files_copies ON files (duplicate_of) WHERE duplicate_of IS NOT NULL',
  ],
};
