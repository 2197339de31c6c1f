import type { Migration } from './migration.js';

/** Versions 1 to 5: the tables of the first release. */
export const TABLES: readonly Omit<Migration, 'version'>[] = [
  /** What a scan writes: roots, scans, folders, files. */
  {
    name: 'files',
    statements: ({ table }) => [
      table(
        `roots (id, path text!, path_bytes text, path_key text! UNIQUE, rules text! DEFAULT '{}', created_at int!)`,
      ),

      table(`scans (id, root_id int! REFERENCES roots (id), worker_id text!, fence int!, mode text! DEFAULT 'all',
        outcome text! DEFAULT 'running'
        CHECK (outcome IN ('running', 'completed', 'interrupted', 'refused', 'failed')),
        started_at int!, finished_at int, counters text! DEFAULT '{}', checkpoint text, error text)`),
      'CREATE INDEX scans_by_root ON scans (root_id, id)',

      table(`folders (id, root_id int! REFERENCES roots (id), parent_id int REFERENCES folders (id), path text!, path_bytes text,
        path_key text! UNIQUE, depth int!, inode text, first_scanned_at int!, last_scanned_at int!, last_scan_id int!,
        listed_scan_id int! DEFAULT 0, removed flag! DEFAULT 0, error_status text)`),
      'CREATE INDEX folders_by_scan ON folders (root_id, last_scan_id)',
      'CREATE INDEX folders_by_parent ON folders (parent_id)',
      'CREATE INDEX folders_unlisted ON folders (last_scan_id, depth, id) WHERE listed_scan_id <> last_scan_id',

      table(`files (id, root_id int!, folder_id int! REFERENCES folders (id), name text!, path text!, path_bytes text, size int!,
        mtime_ns text!, ctime_ns text!, inode text!, revision int! DEFAULT 1, status text! DEFAULT 'pending'
        CHECK (status IN ('pending', 'processing', 'batched', 'analyzed', 'skipped', 'failed')),
        hash_value text, hash_algorithm text, token_count int, tokenizer text, duplicate_of int, worker_id text,
        claimed_until int, claims int! DEFAULT 0, enqueued_at int! DEFAULT 0, error_status text, skip_reason text,
        removed flag! DEFAULT 0, first_scanned_at int!, last_scanned_at int!, last_scan_id int!,
        UNIQUE (folder_id, name), CHECK (status <> 'processing' OR claimed_until IS NOT NULL))`),
      // The unique key makes paths unique, as folders are, and keeps neighbours together: a hash or the path as key made
      // registering 2.5 times slower. It is also the way to what a scan did not see, by the folders it listed; an index
      // on last_scan_id would be rewritten for every file by every rescan.
      "CREATE INDEX files_pending ON files (enqueued_at, id) WHERE status = 'pending' AND removed = 0",
      "CREATE INDEX files_processing ON files (claimed_until, id) WHERE status = 'processing' AND removed = 0",
      'CREATE INDEX files_by_hash ON files (hash_value) WHERE hash_value IS NOT NULL',
    ],
  },

  /** What the batchers and analyzers write. */
  {
    name: 'batches',
    statements: ({ table, keyed }) => [
      table(`batches (id text PRIMARY KEY, total_tokens int!, max_tokens int!, item_count int!, created_by text!, created_at int!,
        published_at int, completed_at int, CHECK (total_tokens <= max_tokens))`),
      'CREATE INDEX batches_open ON batches (created_at, id) WHERE completed_at IS NULL',

      // The primary key is the promise "one batch": the database itself refuses a second one.
      keyed(`batch_items (file_id int! REFERENCES files (id), revision int!, part int!, parts int!,
        batch_id text! REFERENCES batches (id), byte_start int!, byte_end int!, tokens int!, content_hash text!,
        PRIMARY KEY (file_id, revision, part), CHECK (part BETWEEN 1 AND parts))`),
      'CREATE INDEX batch_items_by_batch ON batch_items (batch_id)',

      keyed(
        `token_counts (content_hash text!, tokenizer text!, tokens int!, counted_at int!, PRIMARY KEY (content_hash, tokenizer))`,
      ),

      table(`analyses (file_id int! REFERENCES files (id), revision int!, part int!, batch_id text! REFERENCES batches (id),
        outcome text! CHECK (outcome IN ('delivered', 'stale')), result text, analyzed_at int!,
        PRIMARY KEY (file_id, revision, part))`),
      'CREATE INDEX analyses_by_batch ON analyses (batch_id)',
    ],
  },

  /** Events out (outbox) and in (inbox), fences, audit. */
  {
    name: 'messages',
    statements: ({ table, keyed }) => [
      table(`outbox (id text PRIMARY KEY, queue text!, event_name text!, payload text!, job_options text, ordering_key text,
        status text! DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'PUBLISHED', 'DEAD')),
        created_at int!, available_at int!, attempts int! DEFAULT 0, claimed_by text, claimed_until int! DEFAULT 0,
        published_at int, confirmed_at int, republished int! DEFAULT 0, last_error text, trace text)`),
      "CREATE INDEX outbox_pending ON outbox (created_at, id) WHERE status = 'PENDING'",
      `CREATE INDEX outbox_pending_by_key ON outbox (ordering_key, created_at, id)
      WHERE status = 'PENDING' AND ordering_key IS NOT NULL`,
      "CREATE INDEX outbox_unconfirmed ON outbox (published_at, id) WHERE status = 'PUBLISHED' AND confirmed_at IS NULL",
      `CREATE INDEX outbox_done ON outbox (published_at, id)
      WHERE status = 'PUBLISHED' AND confirmed_at IS NOT NULL`,
      "CREATE INDEX outbox_dead ON outbox (created_at, id) WHERE status = 'DEAD'",

      keyed(`inbox (consumer text!, event_id text!, received_at int!, PRIMARY KEY (consumer, event_id))`),
      'CREATE INDEX inbox_by_event ON inbox (event_id)',
      'CREATE INDEX inbox_by_age ON inbox (received_at)',

      keyed(`fences (key text PRIMARY KEY, fence int!)`),

      // id has no generator: the chain numbers its rows without gaps.
      table(`audit_log (id int PRIMARY KEY, at int!, actor text!, role text, key_id text, ip text, action text!, target text,
        before text, after text, result text!, reason text, previous_hash text!, hash text! UNIQUE)`),
      'CREATE INDEX audit_log_by_target ON audit_log (target, id)',
    ],
  },

  /** What dlq-admin keeps about failures, and its bulk actions. */
  {
    name: 'dead-letters',
    statements: ({ table, keyed }) => [
      table(`dead_letters (id, queue text!, job_id text!, name text!, payload text!, redacted_paths text! DEFAULT '[]',
        options text! DEFAULT '{}', reason text! CHECK (reason IN ('error', 'stalled', 'crash', 'invalid')),
        error_name text!, error_message text!, stack text!, fingerprint text!, attempts_made int!,
        attempts text! DEFAULT '[]', last_worker_id text!, enqueued_at int!, failed_at int!, dead_lettered_at int!,
        status text! DEFAULT 'open' CHECK (status IN ('open', 'requeued', 'discarded')), replay_count int! DEFAULT 0,
        replayed_at int, replay_job_id text UNIQUE, note text, version int! DEFAULT 1, trace text,
        UNIQUE (queue, job_id))`),
      'CREATE INDEX dead_letters_by_time ON dead_letters (dead_lettered_at, id)',
      'CREATE INDEX dead_letters_by_status ON dead_letters (status, dead_lettered_at, id)',
      'CREATE INDEX dead_letters_by_group ON dead_letters (fingerprint, dead_lettered_at, id)',
      'CREATE INDEX dead_letters_by_queue ON dead_letters (queue, dead_lettered_at, id)',

      table(`dead_letter_groups (fingerprint text PRIMARY KEY, error_name text!, message text!, frame text!, first_seen_at int!,
        last_seen_at int!, total int!, open int!)`),
      'CREATE INDEX dead_letter_groups_by_size ON dead_letter_groups (open, fingerprint)',

      table(
        `dead_letter_history (id, letter_id int! REFERENCES dead_letters (id), at int!, actor text!, event text!, details text! DEFAULT '{}')`,
      ),
      'CREATE INDEX dead_letter_history_by_letter ON dead_letter_history (letter_id, id)',

      table(`bulk_actions (id text PRIMARY KEY, kind text! CHECK (kind IN ('requeue', 'discard', 'restore')),
        status text! CHECK (status IN ('frozen', 'running', 'completed', 'aborted', 'stopped')), selection text!,
        dry_run flag! DEFAULT 0, rate_per_second int, canary text, total int! DEFAULT 0, done int! DEFAULT 0,
        skipped int! DEFAULT 0, reason text, created_by text!, created_at int!, finished_at int, claimed_by text,
        claimed_until int! DEFAULT 0)`),
      "CREATE INDEX bulk_actions_active ON bulk_actions (created_at, id) WHERE status IN ('frozen', 'running')",
      'CREATE INDEX bulk_actions_by_time ON bulk_actions (created_at, id)',

      keyed(`bulk_action_items (action_id text! REFERENCES bulk_actions (id), position int!, letter_id int!,
        state text! DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'skipped', 'failed-again')),
        step int! DEFAULT 0, error text, PRIMARY KEY (action_id, position))`),
      `CREATE INDEX bulk_action_items_waiting ON bulk_action_items (action_id, position) WHERE state = 'waiting'`,
      'CREATE INDEX bulk_action_items_by_letter ON bulk_action_items (letter_id)',
    ],
  },

  /** Who may use dlq-admin, and what its alerts know. */
  {
    name: 'access',
    statements: ({ table, keyed }) => [
      table(`api_keys (id text PRIMARY KEY, name text!, role text! CHECK (role IN ('viewer', 'operator', 'admin')),
        key_hash text! UNIQUE, queues text, created_by text!, created_at int!, expires_at int, revoked_at int,
        last_used_at int, replaces text)`),

      keyed(
        `sessions (id_hash text PRIMARY KEY, key_id text! REFERENCES api_keys (id), csrf_hash text!, created_at int!, expires_at int!)`,
      ),
      'CREATE INDEX sessions_by_expiry ON sessions (expires_at)',
      'CREATE INDEX sessions_by_key ON sessions (key_id)',

      table(
        `idempotency_keys (owner text!, key text!, request_hash text!, status int, response text, created_at int!, PRIMARY KEY (owner, key))`,
      ),
      'CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)',

      keyed(
        `alert_states (rule text PRIMARY KEY, state text! CHECK (state IN ('ok', 'firing')), value int!, since int!, notified_at int)`,
      ),

      keyed(
        `depth_samples (queue text!, at int!, depth int!, arrivals int!, oldest_age_ms int!, PRIMARY KEY (queue, at))`,
      ),
      'CREATE INDEX depth_samples_by_age ON depth_samples (at)',
    ],
  },
];
