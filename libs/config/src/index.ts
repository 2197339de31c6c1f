export * from './decorators.js';
export { environment, printable } from './environment.js';
export { ConfigError, type ConfigFault } from './errors.js';
export { CrossRule, describeKeys, keysOf, settingNames } from './key.js';
export type { ConfigGroups, Configuration, KeySpec } from './key.js';
export { loadConfig, loadSharedConfig, type AppConfigurations } from './load.js';
