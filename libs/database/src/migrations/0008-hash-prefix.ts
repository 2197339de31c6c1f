import type { Migration } from './migration.js';

/**
 * Files are found by the first digits of their hash. A hash comes at random, so that a transaction writes nearly every
 * page of this index: the whole hash as key made it four and a half times as large, and storing hashes half as slow again.
 */
export const hashPrefix: Migration = {
  version: 8,
  name: 'hash-prefix',
  statements: () => [
    'DROP INDEX files_by_hash',
    'CREATE INDEX files_by_hash ON files (substr(hash_value, 1, 8)) WHERE hash_value IS NOT NULL',
  ],
};
