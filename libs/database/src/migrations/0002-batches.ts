import type { Migration } from './migration.js';

/** What the batchers and analyzers write. */
export const batches: Migration = {
  version: 2,
  name: 'batches',
  statements: ({ int, table, keyed }) => [
    `CREATE TABLE batches (
      id TEXT PRIMARY KEY,
      total_tokens ${int} NOT NULL,
      max_tokens ${int} NOT NULL,
      item_count ${int} NOT NULL,
      created_by TEXT NOT NULL,
      created_at ${int} NOT NULL,
      published_at ${int},
      completed_at ${int},
      CHECK (total_tokens <= max_tokens)
    ) ${table}`,
    'CREATE INDEX batches_open ON batches (created_at, id) WHERE completed_at IS NULL',

    // The primary key is the promise "one batch": the database itself refuses a second one.
    `CREATE TABLE batch_items (
      file_id ${int} NOT NULL REFERENCES files (id),
      revision ${int} NOT NULL,
      part ${int} NOT NULL,
      parts ${int} NOT NULL,
      batch_id TEXT NOT NULL REFERENCES batches (id),
      byte_start ${int} NOT NULL,
      byte_end ${int} NOT NULL,
      tokens ${int} NOT NULL,
      content_hash TEXT NOT NULL,
      PRIMARY KEY (file_id, revision, part),
      CHECK (part BETWEEN 1 AND parts)
    ) ${keyed}`,
    'CREATE INDEX batch_items_by_batch ON batch_items (batch_id)',

    `CREATE TABLE token_counts (
      content_hash TEXT NOT NULL,
      tokenizer TEXT NOT NULL,
      tokens ${int} NOT NULL,
      counted_at ${int} NOT NULL,
      PRIMARY KEY (content_hash, tokenizer)
    ) ${keyed}`,

    `CREATE TABLE analyses (
      file_id ${int} NOT NULL REFERENCES files (id),
      revision ${int} NOT NULL,
      part ${int} NOT NULL,
      batch_id TEXT NOT NULL REFERENCES batches (id),
      outcome TEXT NOT NULL CHECK (outcome IN ('delivered', 'stale')),
      result TEXT,
      analyzed_at ${int} NOT NULL,
      PRIMARY KEY (file_id, revision, part)
    ) ${table}`,
    'CREATE INDEX analyses_by_batch ON analyses (batch_id)',
  ],
};
