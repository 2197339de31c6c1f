export { checkServers, serverFacts } from './boot-check.js';
export { BREAKER, type BreakerOptions, type BreakerState } from './circuit-breaker.js';
export { answersTo, createRedisClient, RECONNECT, type RedisClient } from './redis-client.js';
export { RedisGate } from './redis-gate.js';
export { breakerOf, RedisConfig } from './redis.config.js';
export { CircuitOpenError, RedisUnavailableError } from './redis.errors.js';
export { parseRedisUrl, type RedisTarget } from './redis-target.js';
