import type { Migration } from './migration.js';

/** Whose work the tables hold: one row, once something was started on them. The destination is open until one who knows it comes. */
export const pipeline: Migration = {
  version: 9,
  name: 'pipeline',
  statements: ({ int, table }) => [
    `CREATE TABLE pipeline (
      only_row ${int} PRIMARY KEY CHECK (only_row = 1),
      id TEXT NOT NULL,
      sink TEXT CHECK (sink IN ('write', 'http')),
      address TEXT,
      format TEXT,
      created_at ${int} NOT NULL,
      CHECK ((sink IS NULL) = (address IS NULL))
    ) ${table}`,
  ],
};
