import type { Migration } from './migration.js';

/** Lets a rescan pass over a folder whose listing is what it was: no row of its files is read or written then. */
export const listingDigest: Migration = {
  version: 6,
  name: 'listing-digest',
  statements: () => ['ALTER TABLE folders ADD COLUMN listing_digest TEXT'],
};
