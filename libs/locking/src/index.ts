export { DatabaseFences } from './database-fences.js';
export { MemoryFences, type FenceIssuer } from './fence-issuer.js';
export type { Lease } from './lease.js';
export { LockConfig } from './lock.config.js';
export { lockSettings, type LockSettings } from './lock-settings.js';
export {
  LockService,
  type AcquireOptions,
  type LeaseOutcome,
  type LockServiceOptions,
} from './lock.service.js';
export * from './locking.errors.js';
export { LockingModule, type LockingModuleOptions, type LockingOptions } from './locking.module.js';
