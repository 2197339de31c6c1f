import type { Migration } from './migration.js';

/** What dlq-admin needs to answer fast at a million letters: searchable text, tallies a group, queue and worker, indexes. */
export const deadLetterSearch: Migration = {
  version: 7,
  name: 'dead-letter-search',
  statements: ({ dialect, int, table, keyed }) => [
    // Lower-cased job id, name, error and payload, cut at some ten thousand characters. A table of its own: otherwise every
    // change of a letter's status would write its hundreds of entries in the text index anew.
    `CREATE TABLE dead_letter_texts (
      letter_id ${int} PRIMARY KEY,
      text TEXT NOT NULL
    ) ${table}`,

    `CREATE TABLE dead_letter_tallies (
      fingerprint TEXT NOT NULL,
      queue TEXT NOT NULL,
      worker TEXT NOT NULL,
      total ${int} NOT NULL,
      open ${int} NOT NULL,
      last_seen_at ${int} NOT NULL,
      PRIMARY KEY (fingerprint, queue, worker)
    ) ${keyed}`,

    "CREATE INDEX dead_letters_open_by_queue ON dead_letters (queue, dead_lettered_at, id) WHERE status = 'open'",
    // With the status at the end, a status that is rare in a group is looked for in the index alone.
    'DROP INDEX dead_letters_by_group',
    'CREATE INDEX dead_letters_by_group ON dead_letters (fingerprint, dead_lettered_at, id, status)',
    'CREATE INDEX dead_letters_by_worker ON dead_letters (last_worker_id, dead_lettered_at, id, status)',
    'CREATE INDEX dead_letters_by_error ON dead_letters (error_name, dead_lettered_at, id, status)',
    "CREATE INDEX dead_letters_in_redrive ON dead_letters (replayed_at, id) WHERE status = 'requeued'",
    ...(dialect === 'sqlite' ? [FULL_TEXT] : [TRIGRAMS]),
  ],
};

const FULL_TEXT = `CREATE VIRTUAL TABLE dead_letter_search USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = 'trigram')`;

// The extension is there once a database, perhaps in another pipeline's schema, so its operators are named with theirs.
// A role that may not create extensions still gets its schema; searches then scan, within the statement's time limit.
const TRIGRAMS = `DO $do$ BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  EXECUTE format('CREATE INDEX dead_letter_texts_by_part ON dead_letter_texts USING gin (text %I.gin_trgm_ops)
    WITH (gin_pending_list_limit = 512)', (SELECT n.nspname FROM pg_extension e
      JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'));
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
  RAISE NOTICE 'no pg_trgm: searching dead letters by text will scan';
END $do$`;
