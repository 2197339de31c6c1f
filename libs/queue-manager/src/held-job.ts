import { DelayedError, UnrecoverableError, WaitingError, type Job } from 'bullmq';
import { InvalidPayloadError, type DeadLetterReason } from '#contracts';
import { CircuitOpenError, RedisUnavailableError } from '#redis';
import { currentTrace, systemClock, traceId, withTrace, type Logger } from '#service';
import { CorruptJobError, CrashedJobError, EnqueueError, handedBack, lockLost } from './errors.js';
import { describeFailure, encodeFailure, MAX_MESSAGE, shorten } from './failure-record.js';
import { giveUp, retryAfter, type JobOutcome } from './job-outcome.js';
import type { JobEnding } from './queue-metrics.js';
import type { QueueWorker } from './queue-worker.js';

/** The data of a job whose stored data is not JSON; it is refused before its processor sees it. */
export const UNREADABLE = Symbol('unreadable job data');

const REDIS_AWAY_RETRY_MS = 1_000;
const MAX_DELAY_MS = 24 * 3_600_000;

type Performance = Promise<JobOutcome | void>;
type Ending = JobOutcome | void | { outcome: 'threw'; error: unknown };

/** Attempts that were used up under another job (see EnqueueOptions). */
export function triedBefore(opts: unknown): number {
  const { tried } = (opts ?? {}) as { tried?: unknown };
  return typeof tried === 'number' && Number.isSafeInteger(tried) && tried > 0 ? tried : 0;
}

/** That of the data of a job, whoever wrote it. */
export function traceOf(data: unknown): string | undefined {
  const { trace } = (data ?? {}) as { trace?: unknown };
  return typeof trace === 'string' && trace.length <= 64 ? trace : undefined;
}

/**
 * One job in a worker's hands, from fetch to outcome: check, trial if it is a suspect, processor under its trace, outcome as
 * BullMQ understands it.
 * Guarantee: what BullMQ is told is what happened; every failure carries its full stack, time and worker.
 */
export class HeldJob<T = unknown> {
  readonly jobId: string;
  readonly trace: string | undefined;
  /** Monotonic time until which the lock is surely ours. */
  lockedUntil: number;
  private readonly startedAt = systemClock.monotonic();
  /** Whether it is known how far it has come, because it could be divided (see suspects.ts). */
  private isFollowed = false;
  private begun: Promise<void> | undefined;
  private leave!: (error: unknown) => void;
  /** Rejects when the job is handed back; what its processor says after that no longer counts. */
  readonly handedBack = new Promise<never>((_, reject) => (this.leave = reject));
  private readonly aborting = new AbortController();
  /** Aborts with JOB_LOCK_LOST or JOB_HANDED_BACK; what is not committed by then must not be. */
  readonly signal = this.aborting.signal;
  private childLogger: Logger | undefined;

  constructor(
    private readonly job: Job,
    private readonly token: string,
    private readonly worker: QueueWorker<T>,
  ) {
    this.jobId = job.id ?? '';
    this.trace = traceOf(job.data);
    this.lockedUntil = this.startedAt + worker.queue.owner.settings.times.lockMs;
  }

  /** How often its worker died or froze with it. */
  get stalls(): number {
    return this.job.stalledCounter;
  }

  /** Whether its process died with it, or with the job it was part of. */
  get suspect(): boolean {
    return this.stalls > 0 || (this.job.opts as { suspect?: unknown }).suspect === true;
  }

  /** Counted from 1. */
  get attempt(): number {
    return triedBefore(this.job.opts) + this.job.attemptsMade + 1;
  }

  /** No other attempt follows when this one fails. */
  get lastAttempt(): boolean {
    return this.job.attemptsMade + 1 >= (this.job.opts.attempts ?? 1);
  }

  get logger(): Logger {
    this.childLogger ??= this.worker.logger.child({
      job_id: this.jobId,
      attempt: this.attempt,
      // Under an ambient trace every line has it anyway.
      ...(this.trace && !currentTrace() && { trace_id: traceId(this.trace) }),
    });
    return this.childLogger;
  }

  /**
   * Tells that what could bring the process down is about to begin, and resolves when that is known. A job of several parts
   * that never came so far is no suspect when its worker dies.
   */
  begin(): Promise<void> {
    return (this.begun ??= this.isFollowed ? this.worker.suspects.reached('begun', this) : Promise.resolve());
  }

  /**
   * Tells that what could bring the process down is behind, when much of the job is waiting: a suspect is acquitted then,
   * and the next gets its trial. Without it that happens when the processor ends.
   */
  passed(): void {
    const { suspects } = this.worker;
    if (this.isFollowed) void suspects.reached('passed', this);
    else suspects.end(this, 'survived');
  }

  lockLost(): void {
    this.aborting.abort(lockLost(this.jobId));
  }

  /** Moves the job back to the head of the queue without using up an attempt. */
  async handBack(): Promise<void> {
    this.aborting.abort(handedBack(this.jobId));
    try {
      await this.job.moveToWait(this.token);
      this.leave(new WaitingError());
    } catch (error) {
      this.leave(error);
      throw error;
    }
  }

  /** Rejects with what BullMQ is to be told of a job that is not done. */
  async work(): Promise<void> {
    const ending = await this.run().catch(classifyFailure);
    await this.settle(ending);
  }

  private async run(): Performance {
    const { contract, options } = this.worker;
    const data: unknown = this.job.data;
    if (data === UNREADABLE) return giveUp(new CorruptJobError(), 'invalid');
    const payload = contract.parse(data);
    const divide = options.divide?.(payload, this);
    if (divide) return this.inParts(payload, divide);
    return this.suspect ? this.onTrial(payload) : this.perform(payload);
  }

  private perform(payload: T): Performance {
    const { handler, options } = this.worker;
    return options.ambientTrace === false
      ? handler(payload, this)
      : withTrace(this.trace, () => handler(payload, this));
  }

  /** A job of several parts is no suspect itself: its parts are. */
  private async inParts(payload: T, divide: () => Performance): Performance {
    const { suspects } = this.worker;
    if (this.stalls > 0 && (await suspects.doubts(this))) return divide();
    this.isFollowed = true;
    return this.perform(payload);
  }

  private async onTrial(payload: T): Performance {
    const { suspects } = this.worker;
    const refused = await suspects.admit(this);
    if (refused) return refused;
    try {
      return await this.perform(payload);
    } finally {
      suspects.end(this, 'ended');
    }
  }

  /** Counts how the job ended. BullMQ learns from an error what became of one that is not done. */
  private async settle(ending: Ending): Promise<void> {
    switch (ending?.outcome) {
      case undefined:
      case 'done':
        return this.count('completed');
      case 'retry': {
        this.count('postponed');
        const delayMs = Math.min(Math.max(1, ending.delayMs), MAX_DELAY_MS);
        await this.job.moveToDelayed(Date.now() + delayMs, this.token);
        throw new DelayedError();
      }
      case 'give up':
        this.count('failed');
        throw this.recorded(new UnrecoverableError(), ending.error, ending.reason);
      case 'threw':
        this.count(this.lastAttempt ? 'failed' : 'retried');
        throw this.recorded(new Error(), ending.error, 'error');
    }
  }

  private count(outcome: JobEnding): void {
    const { name: queue, owner } = this.worker.queue;
    const seconds = (systemClock.monotonic() - this.startedAt) / 1_000;
    owner.metrics.jobDurations.observe({ queue, outcome }, seconds);
  }

  private recorded(failure: Error, error: unknown, reason: DeadLetterReason): Error {
    const { workerId } = this.worker.queue.owner.settings;
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

/** What a processor learns about its job, and the signal that tells it to stop. */
export type JobContext = Pick<
  HeldJob,
  'jobId' | 'attempt' | 'lastAttempt' | 'signal' | 'trace' | 'logger' | 'begin' | 'passed'
>;

/** What is done with one job; one that says nothing is done. */
export type JobHandler<T> = (payload: T, context: JobContext) => Performance;
