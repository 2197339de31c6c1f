export { append, appendAll } from './append.js';
export { jobIdOf, type ClaimedEvent, type EventJobOptions, type NewEvent } from './event.js';
export { Inbox } from './inbox.js';
export * from './outbox.errors.js';
