export { Contract } from './contract.js';
export * from './destination.js';
export { InvalidPayloadError } from './errors.js';
export * from './file-job.js';
export * from './payloads.js';
export { QUEUE } from './queues.js';
