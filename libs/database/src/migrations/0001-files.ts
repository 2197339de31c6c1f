import type { Migration } from './migration.js';

/** What a scan writes: roots, scans, folders, files. */
export const files: Migration = {
  version: 1,
  name: 'files',
  statements: ({ id, int, flag, table }) => [
    `CREATE TABLE roots (
      id ${id},
      path TEXT NOT NULL,
      path_bytes TEXT,
      path_key TEXT NOT NULL UNIQUE,
      rules TEXT NOT NULL DEFAULT '{}',
      created_at ${int} NOT NULL
    ) ${table}`,

    `CREATE TABLE scans (
      id ${id},
      root_id ${int} NOT NULL REFERENCES roots (id),
      worker_id TEXT NOT NULL,
      fence ${int} NOT NULL,
      mode TEXT NOT NULL DEFAULT 'all',
      outcome TEXT NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'completed', 'interrupted', 'refused', 'failed')),
      started_at ${int} NOT NULL,
      finished_at ${int},
      counters TEXT NOT NULL DEFAULT '{}',
      checkpoint TEXT,
      error TEXT
    ) ${table}`,
    'CREATE INDEX scans_by_root ON scans (root_id, id)',

    `CREATE TABLE folders (
      id ${id},
      root_id ${int} NOT NULL REFERENCES roots (id),
      parent_id ${int} REFERENCES folders (id),
      path TEXT NOT NULL,
      path_bytes TEXT,
      path_key TEXT NOT NULL UNIQUE,
      depth ${int} NOT NULL,
      inode TEXT,
      first_scanned_at ${int} NOT NULL,
      last_scanned_at ${int} NOT NULL,
      last_scan_id ${int} NOT NULL,
      listed_scan_id ${int} NOT NULL DEFAULT 0,
      removed ${flag} NOT NULL DEFAULT 0,
      error_status TEXT
    ) ${table}`,
    'CREATE INDEX folders_by_scan ON folders (root_id, last_scan_id)',
    'CREATE INDEX folders_by_parent ON folders (parent_id)',
    'CREATE INDEX folders_unlisted ON folders (last_scan_id, depth, id) WHERE listed_scan_id <> last_scan_id',

    `CREATE TABLE files (
      id ${id},
      root_id ${int} NOT NULL,
      folder_id ${int} NOT NULL REFERENCES folders (id),
      name TEXT NOT NULL,
      path TEXT NOT NULL,
      path_bytes TEXT,
      size ${int} NOT NULL,
      mtime_ns TEXT NOT NULL,
      ctime_ns TEXT NOT NULL,
      inode TEXT NOT NULL,
      revision ${int} NOT NULL DEFAULT 1,
      status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'processing', 'batched', 'analyzed', 'skipped', 'failed')),
      hash_value TEXT,
      hash_algorithm TEXT,
      token_count ${int},
      tokenizer TEXT,
      duplicate_of ${int},
      worker_id TEXT,
      claimed_until ${int},
      claims ${int} NOT NULL DEFAULT 0,
      enqueued_at ${int} NOT NULL DEFAULT 0,
      error_status TEXT,
      skip_reason TEXT,
      removed ${flag} NOT NULL DEFAULT 0,
      first_scanned_at ${int} NOT NULL,
      last_scanned_at ${int} NOT NULL,
      last_scan_id ${int} NOT NULL,
      UNIQUE (folder_id, name),
      CHECK (status <> 'processing' OR claimed_until IS NOT NULL)
    ) ${table}`,
    // The unique key makes paths unique, as folders are, and keeps neighbours together: a hash or the path as key made
    // registering 2.5 times slower. It is also the way to what a scan did not see, by the folders it listed; an index
    // on last_scan_id would be rewritten for every file by every rescan.
    "CREATE INDEX files_pending ON files (enqueued_at, id) WHERE status = 'pending' AND removed = 0",
    "CREATE INDEX files_processing ON files (claimed_until, id) WHERE status = 'processing' AND removed = 0",
    'CREATE INDEX files_by_hash ON files (hash_value) WHERE hash_value IS NOT NULL',
  ],
};
