export { CHECKS, type CheckResult, type Exception } from './checks.js';
export { isDrained, readCounts, skipReasons, type FleetCounts } from './counts.js';
export { deepen } from './tree.js';
export { writeProof } from './proof-folder.js';
export * from './verify.js';
