export * from './content-probe.js';
export * from './file-stat.js';
export * from './fs-faults.js';
export * from './open-file.js';
export * from './path.js';
export * from './skip-reason.js';
