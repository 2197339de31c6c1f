export * from './answers.js';
export * from './api.js';
export { ref, type Schema } from './schema.js';
export { DlqClient } from './dlq-client.js';
export * from './dlq-client.errors.js';
