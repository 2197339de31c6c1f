import { CHANGES } from './changes.js';
import type { Migration } from './migration.js';
import { TABLES } from './tables.js';

export const MIGRATIONS: readonly Migration[] = [...TABLES, ...CHANGES].map((step, index) => ({
  version: index + 1,
  ...step,
}));
