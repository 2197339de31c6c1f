export { ThreadPool, type RunOptions, type ThreadPoolOptions } from './thread-pool.js';
export { threadFile } from './thread-file.js';
export type { ThreadContext, ThreadHandler } from './thread-context.js';
export { WorkerPool, type WorkerPoolOptions } from './worker-pool.js';
export type { WorkItem } from './work-item.js';
export type { PoolMetrics } from './pool-counts.js';
export * from './worker-pool.errors.js';
