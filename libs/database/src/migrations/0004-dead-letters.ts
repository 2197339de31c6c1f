import type { Migration } from './migration.js';

/** What dlq-admin keeps about failures, and its bulk actions. */
export const deadLetters: Migration = {
  version: 4,
  name: 'dead-letters',
  statements: ({ id, int, flag, table, keyed }) => [
    `CREATE TABLE dead_letters (
      id ${id},
      queue TEXT NOT NULL,
      job_id TEXT NOT NULL,
      name TEXT NOT NULL,
      payload TEXT NOT NULL,
      redacted_paths TEXT NOT NULL DEFAULT '[]',
      options TEXT NOT NULL DEFAULT '{}',
      reason TEXT NOT NULL CHECK (reason IN ('error', 'stalled', 'crash', 'invalid')),
      error_name TEXT NOT NULL,
      error_message TEXT NOT NULL,
      stack TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      attempts_made ${int} NOT NULL,
      attempts TEXT NOT NULL DEFAULT '[]',
      last_worker_id TEXT NOT NULL,
      enqueued_at ${int} NOT NULL,
      failed_at ${int} NOT NULL,
      dead_lettered_at ${int} NOT NULL,
      status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'requeued', 'discarded')),
      replay_count ${int} NOT NULL DEFAULT 0,
      replayed_at ${int},
      replay_job_id TEXT UNIQUE,
      note TEXT,
      version ${int} NOT NULL DEFAULT 1,
      trace TEXT,
      UNIQUE (queue, job_id)
    ) ${table}`,
    'CREATE INDEX dead_letters_by_time ON dead_letters (dead_lettered_at, id)',
    'CREATE INDEX dead_letters_by_status ON dead_letters (status, dead_lettered_at, id)',
    'CREATE INDEX dead_letters_by_group ON dead_letters (fingerprint, dead_lettered_at, id)',
    'CREATE INDEX dead_letters_by_queue ON dead_letters (queue, dead_lettered_at, id)',

    `CREATE TABLE dead_letter_groups (
      fingerprint TEXT PRIMARY KEY,
      error_name TEXT NOT NULL,
      message TEXT NOT NULL,
      frame TEXT NOT NULL,
      first_seen_at ${int} NOT NULL,
      last_seen_at ${int} NOT NULL,
      total ${int} NOT NULL,
      open ${int} NOT NULL
    ) ${table}`,
    'CREATE INDEX dead_letter_groups_by_size ON dead_letter_groups (open, fingerprint)',

    `CREATE TABLE dead_letter_history (
      id ${id},
      letter_id ${int} NOT NULL REFERENCES dead_letters (id),
      at ${int} NOT NULL,
      actor TEXT NOT NULL,
      event TEXT NOT NULL,
      details TEXT NOT NULL DEFAULT '{}'
    ) ${table}`,
    'CREATE INDEX dead_letter_history_by_letter ON dead_letter_history (letter_id, id)',

    `CREATE TABLE bulk_actions (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind IN ('requeue', 'discard', 'restore')),
      status TEXT NOT NULL CHECK (status IN ('frozen', 'running', 'completed', 'aborted', 'stopped')),
      selection TEXT NOT NULL,
      dry_run ${flag} NOT NULL DEFAULT 0,
      rate_per_second ${int},
      canary TEXT,
      total ${int} NOT NULL DEFAULT 0,
      done ${int} NOT NULL DEFAULT 0,
      skipped ${int} NOT NULL DEFAULT 0,
      reason TEXT,
      created_by TEXT NOT NULL,
      created_at ${int} NOT NULL,
      finished_at ${int},
      claimed_by TEXT,
      claimed_until ${int} NOT NULL DEFAULT 0
    ) ${table}`,
    "CREATE INDEX bulk_actions_active ON bulk_actions (created_at, id) WHERE status IN ('frozen', 'running')",
    'CREATE INDEX bulk_actions_by_time ON bulk_actions (created_at, id)',

    `CREATE TABLE bulk_action_items (
      action_id TEXT NOT NULL REFERENCES bulk_actions (id),
      position ${int} NOT NULL,
      letter_id ${int} NOT NULL,
      state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'skipped', 'failed-again')),
      step ${int} NOT NULL DEFAULT 0,
      error TEXT,
      PRIMARY KEY (action_id, position)
    ) ${keyed}`,
    `CREATE INDEX bulk_action_items_waiting ON bulk_action_items (action_id, position) WHERE state = 'waiting'`,
    'CREATE INDEX bulk_action_items_by_letter ON bulk_action_items (letter_id)',
  ],
};
