export * from './contract.js';
export * from './destination.js';
export * from './file-job.js';
export * from './payloads.js';
