import type { Migration } from './migration.js';

/** Discards that wait for a second person: until when, who asked (by key), who approved. */
export const approvals: Migration = {
  version: 13,
  name: 'approvals',
  statements: ({ int }) => [
    `ALTER TABLE bulk_actions ADD COLUMN approve_before ${int}`,
    'ALTER TABLE bulk_actions ADD COLUMN approved_by TEXT',
    'ALTER TABLE bulk_actions ADD COLUMN created_key TEXT',
  ],
};
