import type { Migration } from './migration.js';

/** Who may use dlq-admin, and what its alerts know. */
export const access: Migration = {
  version: 5,
  name: 'access',
  statements: ({ int, table, keyed }) => [
    `CREATE TABLE api_keys (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
      key_hash TEXT NOT NULL UNIQUE,
      queues TEXT,
      created_by TEXT NOT NULL,
      created_at ${int} NOT NULL,
      expires_at ${int},
      revoked_at ${int},
      last_used_at ${int},
      replaces TEXT
    ) ${table}`,

    `CREATE TABLE sessions (
      id_hash TEXT PRIMARY KEY,
      key_id TEXT NOT NULL REFERENCES api_keys (id),
      csrf_hash TEXT NOT NULL,
      created_at ${int} NOT NULL,
      expires_at ${int} NOT NULL
    ) ${keyed}`,
    'CREATE INDEX sessions_by_expiry ON sessions (expires_at)',
    'CREATE INDEX sessions_by_key ON sessions (key_id)',

    `CREATE TABLE idempotency_keys (
      owner TEXT NOT NULL,
      key TEXT NOT NULL,
      request_hash TEXT NOT NULL,
      status ${int},
      response TEXT,
      created_at ${int} NOT NULL,
      PRIMARY KEY (owner, key)
    ) ${table}`,
    'CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)',

    `CREATE TABLE alert_states (
      rule TEXT PRIMARY KEY,
      state TEXT NOT NULL CHECK (state IN ('ok', 'firing')),
      value ${int} NOT NULL,
      since ${int} NOT NULL,
      notified_at ${int}
    ) ${keyed}`,

    `CREATE TABLE depth_samples (
      queue TEXT NOT NULL,
      at ${int} NOT NULL,
      depth ${int} NOT NULL,
      arrivals ${int} NOT NULL,
      oldest_age_ms ${int} NOT NULL,
      PRIMARY KEY (queue, at)
    ) ${keyed}`,
    'CREATE INDEX depth_samples_by_age ON depth_samples (at)',
  ],
};
