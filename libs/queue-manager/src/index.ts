export type { BreakerOptions } from './circuit-breaker.js';
export { deadLetterId } from './dead-letter.js';
export { ANY_PAYLOAD, type EnqueueItem, type EnqueueOptions } from './enqueuer.js';
export * from './errors.js';
export type { JobContext } from './held-job.js';
export type { JobProcessor } from './job-runner.js';
export { QueueManagerModule, type QueueManagerAsyncOptions } from './queue-manager.module.js';
export type { QueueManagerOptions } from './queue-manager.options.js';
export { QueueManager } from './queue-manager.js';
export type { QueueCounts } from './queue-stats.js';
export { QueueWorker, type QueueWorkerOptions } from './queue-worker.js';
export {
  createRedisClient,
  type RedisClient,
  type RedisClientOptions,
  type TlsOptions,
} from './redis-client.js';
export { isRedisUnavailable } from './redis-faults.js';
export { RedisConfig } from './redis.config.js';
export { parseRedisUrl, type RedisTarget } from './redis-target.js';
