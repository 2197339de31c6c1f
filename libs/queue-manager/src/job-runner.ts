import { DelayedError, UnrecoverableError } from 'bullmq';
import { InvalidPayloadError, type Contract, type DeadLetterReason } from '#contracts';
import { CircuitOpenError, RedisUnavailableError } from '#redis';
import { systemClock, withTrace } from '#service';
import { UNREADABLE } from './bull-worker.js';
import { CorruptJobError, CrashedJobError, EnqueueError } from './errors.js';
import { describeFailure, encodeFailure, MAX_MESSAGE, shorten } from './failure-record.js';
import type { HeldJob, JobContext } from './held-job.js';
import { giveUp, retryAfter, type JobOutcome } from './job-outcome.js';
import type { JobQueue } from './job-queue.js';
import type { QueueWorkerOptions } from './queue-worker.js';
import type { Suspects } from './suspects.js';

/** What is done with one job; one that says nothing is done. */
export type JobHandler<T> = (payload: T, context: JobContext) => Promise<JobOutcome | void>;
type Performance = () => Promise<JobOutcome | void>;
type Ending = JobOutcome | void | { outcome: 'threw'; error: unknown };

/** How jobs end, as metrics count them. */
export const JOB_ENDINGS = ['completed', 'retried', 'failed', 'postponed'] as const;

const REDIS_AWAY_RETRY_MS = 1_000;
const MAX_DELAY_MS = 24 * 3_600_000;

/**
 * Runs one job: check, trial if it is a suspect, processor under its trace, outcome as BullMQ understands it.
 * Guarantee: what BullMQ is told is what happened; every failure carries its full stack, time and worker.
 */
export class JobRunner<T> {
  constructor(
    private readonly queue: JobQueue,
    private readonly handler: JobHandler<T>,
    private readonly contract: Contract<T>,
    private readonly options: QueueWorkerOptions<T>,
    private readonly suspects: Suspects,
  ) {}

  readonly work = async (job: HeldJob): Promise<void> => {
    const ending = await this.run(job).catch(classifyFailure);
    await this.settle(ending, job);
  };

  private async run(job: HeldJob): Promise<JobOutcome | void> {
    const data: unknown = job.job.data;
    if (data === UNREADABLE) return giveUp(new CorruptJobError(), 'invalid');
    const payload = this.contract.parse(data);
    const perform: Performance = () =>
      this.options.ambientTrace === false
        ? this.handler(payload, job)
        : withTrace(job.trace, () => this.handler(payload, job));
    const divide = this.options.divide?.(payload, job);
    if (divide) return this.inParts(job, divide, perform);
    return job.suspect ? this.onTrial(job, perform) : perform();
  }

  /** A job of several parts is no suspect itself: its parts are. */
  private async inParts(job: HeldJob, divide: Performance, perform: Performance): ReturnType<Performance> {
    if (job.stalls > 0 && (await this.suspects.doubts(job))) return divide();
    job.onBegin = () => this.suspects.reached('begun', job);
    job.onPassed = () => void this.suspects.reached('passed', job);
    return perform();
  }

  private async onTrial(job: HeldJob, perform: Performance): ReturnType<Performance> {
    const admission = await this.suspects.admit(job);
    if (admission.outcome !== 'run') return admission;
    job.onPassed = admission.passed;
    try {
      return await perform();
    } finally {
      admission.ended();
    }
  }

  /** Counts how the job ended. BullMQ learns from an error what became of one that is not done. */
  private async settle(ending: Ending, job: HeldJob): Promise<void> {
    switch (ending?.outcome) {
      case undefined:
      case 'done':
        return this.count('completed', job);
      case 'retry':
        this.count('postponed', job);
        await job.postpone(Math.min(Math.max(1, ending.delayMs), MAX_DELAY_MS));
        throw new DelayedError();
      case 'give up':
        this.count('failed', job);
        throw this.recorded(new UnrecoverableError(), ending.error, ending.reason);
      case 'threw':
        this.count(job.lastAttempt ? 'failed' : 'retried', job);
        throw this.recorded(new Error(), ending.error, 'error');
    }
  }

  private count(outcome: (typeof JOB_ENDINGS)[number], { startedAt }: HeldJob): void {
    const seconds = (systemClock.monotonic() - startedAt) / 1_000;
    this.queue.owner.metrics.jobDurations.observe({ queue: this.queue.name, outcome }, seconds);
  }

  private recorded(failure: Error, error: unknown, reason: DeadLetterReason): Error {
    const { workerId } = this.queue.owner.settings;
    const record = describeFailure(error, {
      at: systemClock.now(),
      workerId: error instanceof CrashedJobError ? error.lastWorkerId : workerId,
      reason,
    });
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
    ? retryAfter(REDIS_AWAY_RETRY_MS)
    : { outcome: 'threw', error };
}
