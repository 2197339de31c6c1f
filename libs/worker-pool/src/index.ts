export { ThreadPool } from './thread-pool.js';
export { threadFile } from './thread-file.js';
export type { ThreadContext } from './thread-context.js';
export { WorkerPool } from './worker-pool.js';
export type { WorkItem } from './work-item.js';
export type { PoolMetrics } from './pool-counts.js';
export * from './worker-pool.errors.js';
