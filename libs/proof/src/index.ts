export { CHECKS, type Check } from './checks.js';
export {
  IN_FLIGHT,
  isDrained,
  readCounts,
  skipReasons,
  type FleetCounts,
  type SkippedFiles,
} from './counts.js';
export { deepCheck } from './deep.js';
export { verify, type CheckResult, type Proof, type Verdict } from './verify.js';
