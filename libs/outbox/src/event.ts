import type { OutboxEventEntity } from '#database';
import { invalidEvent, unreadableEvent } from './outbox.errors.js';

/** How the queue shall treat the event's job. */
interface EventJobOptions {
  attempts?: number;
  priority?: number;
  delayMs?: number;
}

/** An event to be appended. */
export interface NewEvent {
  /**
   * The id that consumers deduplicate by. Give one when what the event tells of has an id (a batch event has its
   * batch's), so that its inbox entry confirms it. A new time-ordered id otherwise.
   */
  id?: string;
  /** The queue to publish to. */
  queue: string;
  /** What happened, for people and metrics; the queue's name unless given. */
  eventName?: string;
  /** An object that JSON can hold; it becomes the job's data as it is, with `trace` added if it has none. */
  payload: object;
  /** Events of one key are published in the order appended; the next is not offered before the previous is published. */
  orderingKey?: string;
  /** Not before this time, in UTC milliseconds. At once unless given. */
  availableAt?: number;
  jobOptions?: EventJobOptions;
  /** W3C traceparent; that of the running work unless given. */
  trace?: string;
}

export const CLAIMED_FIELDS = [
  ...(['id', 'queue', 'eventName', 'payload', 'orderingKey', 'createdAt', 'attempts', 'trace'] as const),
  'jobOptions',
] as const;

/** An event as a publisher holds it. Payload and options are still text: reading them may fail, and only for this event. */
export type ClaimedEvent = Pick<OutboxEventEntity, Exclude<(typeof CLAIMED_FIELDS)[number], 'jobOptions'>> & {
  jobOptions: string | null;
};

/** Under this id, and no other, an event is ever published. */
export const jobIdOf = (eventId: string): string => `e-${eventId}`;

// Job ids are at most 256 characters long and hold no colon; both come from the queue.
const ID = /^[^:\0]{1,128}$/;
const QUEUE_NAME = /^[^:\0]{1,512}$/;

/** The event's payload and options as stored. Refuses what could never be published. */
export function serialize(id: string, event: NewEvent): { payload: string; jobOptions: string | null } {
  if (!ID.test(id)) throw invalidEvent(id, 'an id has 1 to 128 characters, no colon and no NUL');
  if (!QUEUE_NAME.test(event.queue))
    throw invalidEvent(id, 'a queue name has 1 to 512 characters, no colon and no NUL');
  const payload = toJson(id, event.payload);
  if (!payload?.startsWith('{')) throw invalidEvent(id, 'its payload is not an object that JSON can hold');
  return { payload, jobOptions: toJson(id, event.jobOptions) ?? null };
}

function toJson(id: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw invalidEvent(id, 'JSON cannot hold it', error);
  }
}

/** What the queue gets of an event: payload, with the trace it was appended under, and options. */
export function readEvent(event: Pick<ClaimedEvent, 'id' | 'payload' | 'jobOptions' | 'trace'>): {
  payload: object;
  options: EventJobOptions;
} {
  const payload = parseObject(event.id, event.payload);
  const options = event.jobOptions === null ? {} : parseObject(event.id, event.jobOptions);
  return {
    payload: event.trace !== null && !('trace' in payload) ? { ...payload, trace: event.trace } : payload,
    options,
  };
}

function parseObject(id: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw unreadableEvent(id, error);
  }
  throw unreadableEvent(id);
}
