export { DatabaseFences } from './database-fences.js';
export type { Lease } from './lease.js';
export { LockConfig } from './lock.config.js';
export { LockService, type LockServiceOptions } from './lock.service.js';
export { LockUnavailableError } from './locking.errors.js';
export { LockingModule } from './locking.module.js';
