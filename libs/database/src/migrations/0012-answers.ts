import type { Migration } from './migration.js';

/** What the destination said to a batch, kept once: it may be as long as a request, and a batch may hold thousands of files. */
export const answers: Migration = {
  version: 12,
  name: 'answers',
  statements: () => ['ALTER TABLE batches ADD COLUMN answer TEXT'],
};
