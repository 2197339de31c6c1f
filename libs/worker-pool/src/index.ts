export { ThreadPool } from './thread-pool.js';
export { ThreadSet } from './thread-set.js';
export { threadFile } from './thread-file.js';
export type { ThreadContext } from './thread-wire.js';
export { WorkerPool, type WorkItem } from './worker-pool.js';
export type { PoolMetrics } from './pool-counts.js';
export * from './worker-pool.errors.js';
