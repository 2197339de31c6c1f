export * from './decorators.js';
export { describeKeys, printable } from './describe.js';
export { configOrExit, environment } from './environment.js';
export { ConfigError, type ConfigFault } from './errors.js';
export { CrossRule, keysOf, type KeySpec } from './key.js';
export {
  loadConfig,
  loadSharedConfig,
  type AppConfigurations,
  type ConfigGroups,
  type Configuration,
} from './load.js';
export { renderReference } from './reference.js';
