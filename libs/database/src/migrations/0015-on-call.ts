import type { Migration } from './migration.js';

/**
 * What those on call see and leave behind: when a requeued letter's job succeeded, notes on causes, which causes are one and
 * which are several, letters by the hour, who looks after an alert.
 * Indexes for the pipeline at a glance: deliveries of the last hour, letters by state.
 */
export const onCall: Migration = {
  version: 15,
  name: 'on-call',
  statements: ({ int }) => [
    // The state `resolved` is a requeued letter with this time: SQLite could widen the check of `status` only in a new table.
    `ALTER TABLE dead_letters ADD COLUMN resolved_at ${int}`,
    'ALTER TABLE dead_letters ADD COLUMN resolved_by TEXT',
    'DROP INDEX dead_letters_in_redrive',
    `CREATE INDEX dead_letters_in_redrive ON dead_letters (replayed_at, id)
      WHERE status = 'requeued' AND resolved_at IS NULL`,
    'CREATE INDEX dead_letters_by_state ON dead_letters (queue, status, resolved_at)',
    'CREATE INDEX batches_delivered ON batches (completed_at, item_count) WHERE completed_at IS NOT NULL',

    'ALTER TABLE dead_letter_groups ADD COLUMN note TEXT',
    'ALTER TABLE dead_letter_groups ADD COLUMN owner TEXT',
    `ALTER TABLE dead_letter_groups ADD COLUMN muted_until ${int}`,
    'ALTER TABLE dead_letter_groups ADD COLUMN merged_into TEXT',
    'ALTER TABLE dead_letter_groups ADD COLUMN split_by TEXT',
    'ALTER TABLE dead_letter_groups ADD COLUMN newest TEXT',
    `CREATE TABLE dead_letter_hours (
      fingerprint TEXT NOT NULL,
      queue TEXT NOT NULL,
      hour ${int} NOT NULL,
      arrived ${int} NOT NULL,
      PRIMARY KEY (fingerprint, queue, hour)
    )`,
    `INSERT INTO dead_letter_hours SELECT fingerprint, queue, dead_lettered_at / 3600000, count(*) FROM dead_letters
      WHERE dead_lettered_at >= (SELECT max(dead_lettered_at) - 86400000 FROM dead_letters) GROUP BY 1, 2, 3`,
    `ALTER TABLE bulk_actions ADD COLUMN failed_again ${int} NOT NULL DEFAULT 0`,
    'ALTER TABLE alert_states ADD COLUMN acknowledged_by TEXT',
    `ALTER TABLE alert_states ADD COLUMN acknowledged_at ${int}`,
  ],
};
