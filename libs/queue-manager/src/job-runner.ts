import { DelayedError, UnrecoverableError, type Job } from 'bullmq';
import { InvalidPayloadError, type Contract, type DeadLetterReason } from '#contracts';
import { CircuitOpenError, RedisUnavailableError } from '#redis';
import { systemClock, withTrace, type Logger } from '#service';
import { UNREADABLE } from './bull-worker.js';
import { CorruptJobError, EnqueueError, PermanentError, RetryLater } from './errors.js';
import { describeFailure, encodeFailure, MAX_MESSAGE, shorten } from './failure-record.js';
import { HeldJob, type JobContext } from './held-job.js';
import type { HeldJobs } from './held-jobs.js';
import type { Suspects } from './suspects.js';

/** What is done with one job. */
export type JobHandler<T> = (payload: T, context: JobContext) => Promise<void>;
export type JobOutcome = 'completed' | 'retried' | 'failed' | 'postponed';

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
  observe: (outcome: JobOutcome, seconds: number) => void;
  ambientTrace: boolean;
  /** See QueueWorkerOptions. */
  divide: (payload: T, context: JobContext) => (() => Promise<void>) | undefined;
}

const RETRY_ADMISSION_MS = 1_000;
const MAX_DELAY_MS = 24 * 3_600_000;

/**
 * Runs one job: check, trial if it is a suspect, processor under its trace, outcome as BullMQ understands it.
 * Guarantee: what BullMQ is told is what happened; every failure carries its full stack, time and worker.
 */
export class JobRunner<T> {
  constructor(private readonly options: JobRunnerOptions<T>) {}

  /** The processor that BullMQ calls. Written without async steps for the common case: it runs thousands of times a second. */
  readonly process = (job: Job, token?: string): Promise<void> => {
    const { held, logger } = this.options;
    const one = new HeldJob(job, token ?? '', logger, held.now(), held.times.lockMs, this.settled);
    held.add(one);
    if (this.options.stopping()) one.handBack().catch(() => {});
    else
      this.run(one).then(
        () => this.succeed(one),
        (error: unknown) => this.fail(one, error),
      );
    return one.outcome;
  };

  private readonly settled = (job: HeldJob): void => this.options.held.delete(job);

  private run(held: HeldJob): Promise<void> {
    try {
      const payload = this.payloadOf(held);
      const divide = this.options.divide(payload, held);
      if (divide) return this.inParts(held, payload, divide);
      return held.suspect ? this.onTrial(held, payload) : this.perform(held, payload);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private succeed(held: HeldJob): void {
    this.options.observe('completed', (this.options.held.now() - held.startedAt) / 1_000);
    held.resolve();
  }

  private async fail(held: HeldJob, error: unknown): Promise<void> {
    const failure = await this.translate(error, held).catch((other: unknown) => other);
    this.options.observe(outcomeOf(failure, held), (this.options.held.now() - held.startedAt) / 1_000);
    held.reject(failure);
  }

  /** A job of several parts is no suspect itself: its parts are. */
  private async inParts(held: HeldJob, payload: T, divide: () => Promise<void>): Promise<void> {
    const { suspects } = this.options;
    const key = this.options.jobKey(held.jobId);
    const stalls = held.job.stalledCounter;
    if (stalls > 0 && (await suspects.doubts(key, stalls))) return divide();
    held.onBegin = () => suspects.reached('begun', key, stalls);
    held.onPassed = () => void suspects.reached('passed', key, stalls);
    await this.perform(held, payload);
  }

  private async onTrial(held: HeldJob, payload: T): Promise<void> {
    const admission = await this.options.suspects.admit(
      this.options.jobKey(held.jobId),
      held.job.stalledCounter,
    );
    if (admission.verdict === 'defer') throw new RetryLater(admission.delayMs);
    held.onPassed = admission.passed;
    try {
      await this.perform(held, payload);
    } finally {
      admission.ended();
    }
  }

  private perform(held: HeldJob, payload: T): Promise<void> {
    if (this.options.ambientTrace) return withTrace(held.trace, () => this.options.handler(payload, held));
    return this.options.handler(payload, held);
  }

  private payloadOf(held: HeldJob): T {
    const data: unknown = held.job.data;
    if (data === UNREADABLE)
      throw new CorruptJobError(
        'the job data is not JSON or is too long; correct the payload before requeueing it',
      );
    return this.options.contract.parse(data);
  }

  private async translate(error: unknown, held: HeldJob): Promise<Error> {
    const delayMs = postponement(error);
    if (delayMs !== null) {
      await held.postpone(Math.min(delayMs, MAX_DELAY_MS));
      return new DelayedError();
    }
    const reason = reasonOf(error);
    const record = describeFailure(error, {
      at: systemClock.now(),
      workerId: blamedWorker(error) ?? this.options.workerId,
      reason: reason ?? 'error',
    });
    const failure = reason === null ? new Error() : new UnrecoverableError();
    failure.message = shorten(record.message, MAX_MESSAGE);
    failure.stack = encodeFailure(record);
    return failure;
  }
}

function postponement(error: unknown): number | null {
  if (error instanceof RetryLater) return Math.max(1, error.delayMs);
  // Our own Redis is away: the job is not at fault.
  const source = error instanceof EnqueueError ? error.cause : error;
  return source instanceof CircuitOpenError || source instanceof RedisUnavailableError
    ? RETRY_ADMISSION_MS
    : null;
}

/** Why trying again cannot help; null when it may. */
function reasonOf(error: unknown): DeadLetterReason | null {
  if (error instanceof PermanentError) return error.reason;
  return error instanceof InvalidPayloadError ? 'invalid' : null;
}

function blamedWorker(error: unknown): string | undefined {
  return error instanceof PermanentError && 'lastWorkerId' in error && typeof error.lastWorkerId === 'string'
    ? error.lastWorkerId
    : undefined;
}

function outcomeOf(failure: unknown, { job }: HeldJob): JobOutcome {
  if (failure instanceof DelayedError) return 'postponed';
  return failure instanceof UnrecoverableError || job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
    ? 'failed'
    : 'retried';
}
