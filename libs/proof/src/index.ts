export { CHECKS, type Check } from './checks.js';
export {
  IN_FLIGHT,
  isDrained,
  readCounts,
  skipReasons,
  type FleetCounts,
  type SkippedFiles,
} from './counts.js';
export { deepen, type DeepOptions } from './deep.js';
export { EXCEPTIONS, type ExceptionKind } from './exceptions.js';
export { ProofFolderError, writeProof } from './proof-folder.js';
export type { Scope } from './scope.js';
export * from './verify.js';
