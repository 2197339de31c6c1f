export * from './decorators.js';
export { environment, printable } from './environment.js';
export { ConfigError, type ConfigFault } from './errors.js';
export {
  CrossRule,
  describeKeys,
  keysOf,
  settingNames,
  type ConfigGroups,
  type Configuration,
  type KeySpec,
} from './key.js';
export { loadConfig, loadSharedConfig, type AppConfigurations } from './load.js';
