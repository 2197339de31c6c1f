import { backoffMs, errorCode, type BackoffOptions } from '#service';

const FIRST_IDLE_MS = 5;

/** The wait after `rounds` empty looks in a row: short after work, growing to the ceiling, half fixed and half random. */
export function idleWaitMs(rounds: number, ceilingMs: number, random: () => number = Math.random): number {
  const wait = Math.min(ceilingMs, FIRST_IDLE_MS * 2 ** Math.min(rounds, 30));
  return Math.max(1, Math.ceil(wait / 2 + (wait / 2) * random()));
}

// What is written wrongly in the table is as wrong next time.
const INCURABLE = new Set(['OUTBOX_UNREADABLE_EVENT', 'INVALID_JOB_ID']);

/** How long until an event is offered again that the queue refused, `refusals` times before this one; null: it is given up. */
export function afterRefusal(
  refusals: number,
  error: unknown,
  policy: BackoffOptions & { attempts: number },
  random: () => number = Math.random,
): number | null {
  const givenUp = refusals + 1 >= policy.attempts || INCURABLE.has(errorCode(error) ?? '');
  return givenUp ? null : backoffMs(refusals, policy, random);
}

const MAX_DOUBLINGS = 8;

/** How long an event may stay unconfirmed before it is looked for: longer each time that it was published again in vain. */
export function confirmWaitMs(republished: number, timeoutMs: number): number {
  return timeoutMs * 2 ** Math.min(republished, MAX_DOUBLINGS);
}
