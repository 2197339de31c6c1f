import type { DeadLetterReason } from '#contracts';

/**
 * What became of a job, as its processor tells. What a processor throws instead is a surprise: the job is tried again after
 * a growing, random wait until its attempts are used up.
 */
export type JobOutcome =
  | { outcome: 'done' }
  /** The world, not the job, is at fault (rate limit, disk full, database away): no attempt is used up. */
  | { outcome: 'retry'; delayMs: number; cause: unknown }
  /** Trying again cannot help: the job is dead-lettered at once. */
  | { outcome: 'give up'; error: Error; reason: DeadLetterReason };

export type RetryAfter = Extract<JobOutcome, { outcome: 'retry' }>;

export const done: JobOutcome = { outcome: 'done' };

export const retryAfter = (delayMs: number, cause?: unknown): RetryAfter => ({
  outcome: 'retry',
  delayMs,
  cause,
});

export const giveUp = (error: Error, reason: DeadLetterReason = 'error'): JobOutcome => ({
  outcome: 'give up',
  error,
  reason,
});
