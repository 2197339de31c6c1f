export { CHECKS } from './checks.js';
export { isDrained, readCounts, skipReasons, type FleetCounts, type SkippedFiles } from './counts.js';
export { deepen } from './tree.js';
export { writeProof } from './proof-folder.js';
export type { Scope } from './scope.js';
export * from './verify.js';
