import { DelayedError, UnrecoverableError, type Job } from 'bullmq';
import { InvalidPayloadError, type Contract, type DeadLetterReason } from '#contracts';
import { CircuitOpenError, RedisUnavailableError } from '#redis';
import { systemClock, withTrace, type Logger } from '#service';
import { UNREADABLE } from './bull-worker.js';
import { CorruptJobError, CrashedJobError, EnqueueError } from './errors.js';
import { describeFailure, encodeFailure, MAX_MESSAGE, shorten } from './failure-record.js';
import { HeldJob, type JobContext } from './held-job.js';
import type { HeldJobs } from './held-jobs.js';
import { giveUp, retryAfter, type JobOutcome } from './job-outcome.js';
import type { Suspects } from './suspects.js';

/** What is done with one job; one that says nothing is done. */
export type JobHandler<T> = (payload: T, context: JobContext) => Promise<JobOutcome | void>;
/** How it ended, as metrics count it. */
export type JobEnding = 'completed' | 'retried' | 'failed' | 'postponed';
type Ending = JobOutcome | void | { outcome: 'threw'; error: unknown };

interface JobRunnerOptions<T> {
  contract: Contract<T>;
  handler: JobHandler<T>;
  workerId: string;
  logger: Logger;
  held: HeldJobs;
  suspects: Suspects;
  jobKey: (jobId: string) => string;
  /** True once intake has stopped: what still arrives goes straight back. */
  stopping: () => boolean;
  observe: (outcome: JobEnding, seconds: number) => void;
  ambientTrace: boolean;
  /** See QueueWorkerOptions. */
  divide: (payload: T, context: JobContext) => (() => Promise<JobOutcome | void>) | undefined;
}

const RETRY_ADMISSION_MS = 1_000;
const MAX_DELAY_MS = 24 * 3_600_000;

/**
 * Runs one job: check, trial if it is a suspect, processor under its trace, outcome as BullMQ understands it.
 * Guarantee: what BullMQ is told is what happened; every failure carries its full stack, time and worker.
 */
export class JobRunner<T> {
  constructor(private readonly options: JobRunnerOptions<T>) {}

  /** The processor that BullMQ calls. */
  readonly process = (job: Job, token?: string): Promise<void> => {
    const { held, logger } = this.options;
    const one = new HeldJob(job, token ?? '', logger, held.now(), held.times.lockMs, this.settled);
    held.add(one);
    if (this.options.stopping()) one.handBack().catch(() => {});
    else void this.settle(one);
    return one.outcome;
  };

  private readonly settled = (job: HeldJob): void => this.options.held.delete(job);

  private async settle(held: HeldJob): Promise<void> {
    const ending = await this.run(held).catch(classifyFailure);
    const failure = await this.failureOf(ending, held).catch((error: unknown) => error);
    this.options.observe(countedAs(ending, held), (this.options.held.now() - held.startedAt) / 1_000);
    if (failure === undefined) held.resolve();
    else held.reject(failure);
  }

  private async run(held: HeldJob): Promise<JobOutcome | void> {
    const data: unknown = held.job.data;
    if (data === UNREADABLE) return giveUp(new CorruptJobError(), 'invalid');
    const payload = this.options.contract.parse(data);
    const divide = this.options.divide(payload, held);
    if (divide) return this.inParts(held, payload, divide);
    return held.suspect ? this.onTrial(held, payload) : this.perform(held, payload);
  }

  /** A job of several parts is no suspect itself: its parts are. */
  private async inParts(
    held: HeldJob,
    payload: T,
    divide: () => Promise<JobOutcome | void>,
  ): Promise<JobOutcome | void> {
    const { suspects } = this.options;
    const key = this.options.jobKey(held.jobId);
    const stalls = held.job.stalledCounter;
    if (stalls > 0 && (await suspects.doubts(key, stalls))) return divide();
    held.onBegin = () => suspects.reached('begun', key, stalls);
    held.onPassed = () => void suspects.reached('passed', key, stalls);
    return this.perform(held, payload);
  }

  private async onTrial(held: HeldJob, payload: T): Promise<JobOutcome | void> {
    const admission = await this.options.suspects.admit(
      this.options.jobKey(held.jobId),
      held.job.stalledCounter,
    );
    if (admission.outcome !== 'run') return admission;
    held.onPassed = admission.passed;
    try {
      return await this.perform(held, payload);
    } finally {
      admission.ended();
    }
  }

  private perform(held: HeldJob, payload: T): Promise<JobOutcome | void> {
    if (this.options.ambientTrace) return withTrace(held.trace, () => this.options.handler(payload, held));
    return this.options.handler(payload, held);
  }

  /** The error by which BullMQ learns what happened; undefined when the job is done. */
  private async failureOf(ending: Ending, held: HeldJob): Promise<Error | undefined> {
    switch (ending?.outcome) {
      case undefined:
      case 'done':
        return undefined;
      case 'retry':
        await held.postpone(Math.min(Math.max(1, ending.delayMs), MAX_DELAY_MS));
        return new DelayedError();
      case 'give up':
        return this.recorded(new UnrecoverableError(), ending.error, ending.reason);
      case 'threw':
        return this.recorded(new Error(), ending.error, 'error');
    }
  }

  private recorded(failure: Error, error: unknown, reason: DeadLetterReason): Error {
    const workerId = error instanceof CrashedJobError ? error.lastWorkerId : this.options.workerId;
    const record = describeFailure(error, { at: systemClock.now(), workerId, reason });
    failure.message = shorten(record.message, MAX_MESSAGE);
    failure.stack = encodeFailure(record);
    return failure;
  }
}

function classifyFailure(error: unknown): Ending {
  if (error instanceof InvalidPayloadError) return giveUp(error, 'invalid');
  // Our own Redis is away: the job is not at fault.
  const source = error instanceof EnqueueError ? error.cause : error;
  return source instanceof CircuitOpenError || source instanceof RedisUnavailableError
    ? retryAfter(RETRY_ADMISSION_MS)
    : { outcome: 'threw', error };
}

function countedAs(ending: Ending, { lastAttempt }: HeldJob): JobEnding {
  switch (ending?.outcome) {
    case undefined:
    case 'done':
      return 'completed';
    case 'retry':
      return 'postponed';
    case 'give up':
      return 'failed';
    case 'threw':
      return lastAttempt ? 'failed' : 'retried';
  }
}
