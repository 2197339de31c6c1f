export * from './api-key.js';
export * from './api-keys.repository.js';
export * from './audit-log.repository.js';
export * from './bulk.js';
export { DatabaseConfig } from './database.config.js';
export * from './database.errors.js';
export * from './database.module.js';
export { Database } from './database.service.js';
export { databaseFiles, parseDatabaseUrl } from './database-url.js';
export * from './duplicates.repository.js';
export * from './entities/index.js';
export { columnsOf, rowsOf, typesOf } from './entity-sql.js';
export { errorKind, isTransient, isUniqueViolation } from './error-kind.js';
export { CLOCK_STEP_MS, FileClaims, LONGEST_LEASE_MS } from './file-claims.repository.js';
export * from './conditions.js';
export * from './output-owner.js';
export * from './pipeline.service.js';
export * from './registered-files.repository.js';
export {
  databaseNow,
  dialectOf,
  execute,
  isIn,
  listOf,
  placeholders,
  queryOne,
  queryRows,
  rowLock,
  type Dialect,
  type SqlValue,
} from './query.js';
export { storableText } from './storable-text.js';
export type { ReadOptions, Work } from './store.js';
export type { EntityManager } from 'typeorm';
