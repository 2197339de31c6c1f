export * from './api.js';
export { DlqClient, filterQuery, type DlqClientOptions } from './dlq-client.js';
export * from './dlq-client.errors.js';
