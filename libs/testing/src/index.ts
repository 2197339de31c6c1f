export { CountingDatabase } from './counting-database.js';
export * from './child.js';
export * from './eventually.js';
export * from './fake-clock.js';
export { serviceContract } from './service-contract.js';
export { freePort } from './free-port.js';
export { guardLeaks } from './leak-guard.js';
export { pipelineRedis } from './pipeline-redis.js';
export { NotRunHere } from './not-run.js';
export { startPgBouncer, type PgBouncer, type PgBouncerOptions } from './pgbouncer.js';
export { createDatabase, loadCluster, startPostgres, type PostgresServer } from './postgres-server.js';
export { Random, testSeed } from './random.js';
export { startRedis, type RedisOptions, type RedisServer } from './redis-server.js';
export {
  DATABASE_KINDS,
  emptyDatabase,
  sharedRedis,
  testDatabase,
  type DatabaseKind,
  type TestDatabase,
} from './shared-services.js';
export { tempFolder, withTempFolder, type TempFolder } from './temp-folder.js';
export { startSpanCollector, type CollectedSpan, type SpanCollector } from './span-collector.js';
