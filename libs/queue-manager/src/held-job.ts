import { WaitingError, type Job } from 'bullmq';
import { currentTrace, systemClock, traceId, type Logger } from '#service';
import { handedBack, lockLost } from './errors.js';

/** Attempts that were used up under another job (see EnqueueOptions). */
export function triedBefore(opts: unknown): number {
  const { tried } = (opts ?? {}) as { tried?: unknown };
  return typeof tried === 'number' && Number.isSafeInteger(tried) && tried > 0 ? tried : 0;
}

/** One job in a worker's hands, from fetch to outcome. */
export class HeldJob {
  readonly jobId: string;
  readonly startedAt = systemClock.monotonic();
  /** Monotonic time until which the lock is surely ours. */
  lockedUntil: number;
  /** Set when somebody wants to know (see suspects.ts). */
  onBegin: (() => Promise<void>) | undefined;
  onPassed: (() => void) | undefined;
  private begun: Promise<void> | undefined;
  private leave!: (error: unknown) => void;
  /** Rejects when the job is handed back; what its processor says after that no longer counts. */
  readonly handedBack = new Promise<never>((_, reject) => (this.leave = reject));
  private readonly aborting = new AbortController();
  /** Aborts with JOB_LOCK_LOST or JOB_HANDED_BACK; what is not committed by then must not be. */
  readonly signal = this.aborting.signal;
  private childLogger: Logger | undefined;

  constructor(
    readonly job: Job,
    private readonly token: string,
    private readonly parentLogger: Logger,
    lockMs: number,
  ) {
    this.jobId = job.id ?? '';
    this.lockedUntil = this.startedAt + lockMs;
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

  get trace(): string | undefined {
    const data: unknown = this.job.data;
    return typeof data === 'object' && data !== null && 'trace' in data && typeof data.trace === 'string'
      ? data.trace
      : undefined;
  }

  get logger(): Logger {
    this.childLogger ??= this.parentLogger.child({
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
    return (this.begun ??= this.onBegin?.() ?? Promise.resolve());
  }

  /**
   * Tells that what could bring the process down is behind, when much of the job is waiting: a suspect is acquitted then,
   * and the next gets its trial. Without it that happens when the processor ends.
   */
  passed(): void {
    this.onPassed?.();
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

  /** The job will be fetched again after `ms`; no attempt is used up. */
  async postpone(ms: number): Promise<void> {
    await this.job.moveToDelayed(Date.now() + ms, this.token);
  }
}

/** What a processor learns about its job, and the signal that tells it to stop. */
export type JobContext = Pick<
  HeldJob,
  'jobId' | 'attempt' | 'lastAttempt' | 'signal' | 'trace' | 'logger' | 'begin' | 'passed'
>;
