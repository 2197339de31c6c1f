import type { Migration } from './migration.js';

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

const FULL_TEXT = `CREATE VIRTUAL TABLE dead_letter_search USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = 'trigram')`;

const AUDIT_REFUSAL = 'audit_log only grows';
const AUDIT_GUARD = {
  sqlite: ['UPDATE', 'DELETE'].map(
    (verb) => `CREATE TRIGGER audit_log_no_${verb.toLowerCase()} BEFORE ${verb} ON audit_log
    BEGIN SELECT RAISE(ABORT, '${AUDIT_REFUSAL}'); END`,
  ),
  postgres: [
    `CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''${AUDIT_REFUSAL}''; END'`,
    `CREATE TRIGGER audit_log_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()`,
  ],
};

/** Versions 6 and later. */
export const CHANGES: readonly Omit<Migration, 'version'>[] = [
  /** Lets a rescan pass over a folder whose listing is what it was: no row of its files is read or written then. */
  {
    name: 'listing-digest',
    statements: ({ addColumns }) => addColumns('folders', 'listing_digest text'),
  },

  /** What dlq-admin needs to answer fast at a million letters: searchable text, tallies a group, queue and worker, indexes. */
  {
    name: 'dead-letter-search',
    statements: ({ dialect, table, keyed }) => [
      // Lower-cased job id, name, error and payload, cut at some ten thousand characters. A table of its own: otherwise every
      // change of a letter's status would write its hundreds of entries in the text index anew.
      table(`dead_letter_texts (letter_id int PRIMARY KEY, text text!)`),
      keyed(`dead_letter_tallies (fingerprint text!, queue text!, worker text!, total int!, open int!, last_seen_at int!,
        PRIMARY KEY (fingerprint, queue, worker))`),

      "CREATE INDEX dead_letters_open_by_queue ON dead_letters (queue, dead_lettered_at, id) WHERE status = 'open'",
      // With the status at the end, a status that is rare in a group is looked for in the index alone.
      'DROP INDEX dead_letters_by_group',
      'CREATE INDEX dead_letters_by_group ON dead_letters (fingerprint, dead_lettered_at, id, status)',
      'CREATE INDEX dead_letters_by_worker ON dead_letters (last_worker_id, dead_lettered_at, id, status)',
      'CREATE INDEX dead_letters_by_error ON dead_letters (error_name, dead_lettered_at, id, status)',
      "CREATE INDEX dead_letters_in_redrive ON dead_letters (replayed_at, id) WHERE status = 'requeued'",
      dialect === 'sqlite' ? FULL_TEXT : TRIGRAMS,
    ],
  },

  /**
   * Files are found by the first digits of their hash. A hash comes at random, so that a transaction writes nearly every
   * page of this index: the whole hash as key made it four and a half times as large, and storing hashes half as slow again.
   */
  {
    name: 'hash-prefix',
    statements: () => [
      'DROP INDEX files_by_hash',
      'CREATE INDEX files_by_hash ON files (substr(hash_value, 1, 8)) WHERE hash_value IS NOT NULL',
    ],
  },

  /** Whose work the tables hold: one row, once something was started on them. The destination is open until one who knows it comes. */
  {
    name: 'pipeline',
    statements: ({ table }) => [
      table(`pipeline (only_row int PRIMARY KEY CHECK (only_row = 1), id text!, sink text CHECK (sink IN ('write', 'http')),
        address text, format text, created_at int!, CHECK ((sink IS NULL) = (address IS NULL)))`),
    ],
  },

  /**
   * What was last batched for a path, so that the same content is not sent again whatever its stat says. The device leaves the
   * identity of a file: a mount has another number each time. Indexes for the few files that a scan looks at again, and for
   * the copies of a file.
   */
  {
    name: 'sent-content',
    statements: ({ dialect, addColumns }) => [
      ...addColumns('files', 'sent_revision int, sent_hash text'),
      `UPDATE files SET sent_revision = revision, sent_hash = hash_value
     WHERE status IN ('batched', 'analyzed') AND hash_algorithm = 'sha256'`,
      `UPDATE files SET inode = ${dialect === 'sqlite' ? "substr(inode, instr(inode, ':') + 1)" : "split_part(inode, ':', 2)"}
     WHERE inode LIKE '%:%'`,
      `CREATE INDEX files_open_skips ON files (root_id, folder_id) WHERE status = 'skipped' AND removed = 0
       AND skip_reason IN ('vanished', 'not-a-file', 'outside-root', 'changed', 'unreadable')`,
      'CREATE INDEX files_copies ON files (duplicate_of) WHERE duplicate_of IS NOT NULL',
    ],
  },

  /** The audit log only grows, whoever writes; and secrets that the replicas of an app share. */
  {
    name: 'audit-guard',
    statements: ({ dialect, int }) => [
      ...AUDIT_GUARD[dialect],
      `CREATE TABLE shared_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL, created_at ${int} NOT NULL) ${dialect === 'sqlite' ? 'STRICT, WITHOUT ROWID' : ''}`,
    ],
  },

  /** What the destination said to a batch, kept once: it may be as long as a request, and a batch may hold thousands of files. */
  {
    name: 'answers',
    statements: ({ addColumns }) => addColumns('batches', 'answer text'),
  },

  /** Discards that wait for a second person: until when, who asked (by key), who approved. */
  {
    name: 'approvals',
    statements: ({ addColumns }) =>
      addColumns('bulk_actions', 'approve_before int, approved_by text, created_key text'),
  },

  /**
   * Which job brings a file. Null, as in rows from before: a job of its own, `f-<id>-<revision>`. The index of waiting files
   * holds it too, so that recovery counts jobs without reading rows.
   */
  {
    name: 'file-jobs',
    statements: ({ addColumns }) => [
      ...addColumns('files', 'job_id text'),
      'DROP INDEX files_pending',
      "CREATE INDEX files_pending ON files (enqueued_at, id, job_id) WHERE status = 'pending' AND removed = 0",
    ],
  },

  /**
   * What those on call see and leave behind: when a requeued letter's job succeeded, notes on causes, which causes are one and
   * which are several, letters by the hour, who looks after an alert.
   * Indexes for the pipeline at a glance: deliveries of the last hour, letters by state.
   */
  {
    name: 'on-call',
    statements: ({ int, addColumns }) => [
      // The state `resolved` is a requeued letter with this time: SQLite could widen the check of `status` only in a new table.
      ...addColumns('dead_letters', 'resolved_at int, resolved_by text'),
      'DROP INDEX dead_letters_in_redrive',
      `CREATE INDEX dead_letters_in_redrive ON dead_letters (replayed_at, id)
      WHERE status = 'requeued' AND resolved_at IS NULL`,
      'CREATE INDEX dead_letters_by_state ON dead_letters (queue, status, resolved_at)',
      'CREATE INDEX batches_delivered ON batches (completed_at, item_count) WHERE completed_at IS NOT NULL',

      ...addColumns(
        'dead_letter_groups',
        'note text, owner text, muted_until int, merged_into text, split_by text, newest text',
      ),
      `CREATE TABLE dead_letter_hours (fingerprint TEXT NOT NULL, queue TEXT NOT NULL, hour ${int} NOT NULL,
        arrived ${int} NOT NULL, PRIMARY KEY (fingerprint, queue, hour))`,
      `INSERT INTO dead_letter_hours SELECT fingerprint, queue, dead_lettered_at / 3600000, count(*) FROM dead_letters
      WHERE dead_lettered_at >= (SELECT max(dead_lettered_at) - 86400000 FROM dead_letters) GROUP BY 1, 2, 3`,
      ...addColumns('bulk_actions', 'failed_again int! DEFAULT 0'),
      ...addColumns('alert_states', 'acknowledged_by text, acknowledged_at int'),
    ],
  },

  /**
   * An effect is recorded from the item of its batch, whose own references keep the file and the batch. On PostgreSQL, where a
   * reference can be dropped, checking both again took a third of the time of recording.
   */
  {
    name: 'lighter-effects',
    statements: ({ dialect }) =>
      dialect === 'sqlite'
        ? []
        : [
            'ALTER TABLE analyses DROP CONSTRAINT analyses_file_id_fkey, DROP CONSTRAINT analyses_batch_id_fkey',
          ],
  },
];
