export * from './api.js';
export { DlqClient, type DlqClientOptions } from './dlq-client.js';
export * from './dlq-client.errors.js';
