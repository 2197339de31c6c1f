export { append, appendAll } from './append.js';
export { newEventId } from './event-id.js';
export { DeadEvents, type DeadEvent, type DeadEventsQuery } from './dead-events.repository.js';
export {
  EventClaims,
  type ClaimOptions,
  type EventFailure,
  type MarkedEvent,
} from './event-claims.repository.js';
export { jobIdOf, readEvent, type ClaimedEvent, type EventJobOptions, type NewEvent } from './event.js';
export { Inbox } from './inbox.js';
export { OutboxStatistics, type OutboxCounts } from './outbox-statistics.repository.js';
export { SettledEvents } from './settled-events.repository.js';
export { UnconfirmedEvents, type Position, type UnconfirmedEvent } from './unconfirmed-events.repository.js';
export { createWakeUp } from './wake-up.js';
