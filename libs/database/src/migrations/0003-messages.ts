import type { Migration } from './migration.js';

/** Events out (outbox) and in (inbox), fences, audit. */
export const messages: Migration = {
  version: 3,
  name: 'messages',
  statements: ({ int, table, keyed }) => [
    `CREATE TABLE outbox (
      id TEXT PRIMARY KEY,
      queue TEXT NOT NULL,
      event_name TEXT NOT NULL,
      payload TEXT NOT NULL,
      job_options TEXT,
      ordering_key TEXT,
      status TEXT NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'PUBLISHED', 'DEAD')),
      created_at ${int} NOT NULL,
      available_at ${int} NOT NULL,
      attempts ${int} NOT NULL DEFAULT 0,
      claimed_by TEXT,
      claimed_until ${int} NOT NULL DEFAULT 0,
      published_at ${int},
      confirmed_at ${int},
      republished ${int} NOT NULL DEFAULT 0,
      last_error TEXT,
      trace TEXT
    ) ${table}`,
    "CREATE INDEX outbox_pending ON outbox (created_at, id) WHERE status = 'PENDING'",
    `CREATE INDEX outbox_pending_by_key ON outbox (ordering_key, created_at, id)
      WHERE status = 'PENDING' AND ordering_key IS NOT NULL`,
    "CREATE INDEX outbox_unconfirmed ON outbox (published_at, id) WHERE status = 'PUBLISHED' AND confirmed_at IS NULL",
    `CREATE INDEX outbox_done ON outbox (published_at, id)
      WHERE status = 'PUBLISHED' AND confirmed_at IS NOT NULL`,
    "CREATE INDEX outbox_dead ON outbox (created_at, id) WHERE status = 'DEAD'",

    `CREATE TABLE inbox (
      consumer TEXT NOT NULL,
      event_id TEXT NOT NULL,
      received_at ${int} NOT NULL,
      PRIMARY KEY (consumer, event_id)
    ) ${keyed}`,
    'CREATE INDEX inbox_by_event ON inbox (event_id)',
    'CREATE INDEX inbox_by_age ON inbox (received_at)',

    `CREATE TABLE fences (
      key TEXT PRIMARY KEY,
      fence ${int} NOT NULL
    ) ${keyed}`,

    // id has no generator: the chain numbers its rows without gaps.
    `CREATE TABLE audit_log (
      id ${int} PRIMARY KEY,
      at ${int} NOT NULL,
      actor TEXT NOT NULL,
      role TEXT,
      key_id TEXT,
      ip TEXT,
      action TEXT NOT NULL,
      target TEXT,
      before TEXT,
      after TEXT,
      result TEXT NOT NULL,
      reason TEXT,
      previous_hash TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE
    ) ${table}`,
    'CREATE INDEX audit_log_by_target ON audit_log (target, id)',
  ],
};
