import { WaitingError, type Job } from 'bullmq';
import { currentTrace, traceId, type Logger } from '#service';
import { HandedBackError, LockLostError } from './errors.js';

/** What a processor learns about its job, and the signal that tells it to stop. */
export interface JobContext {
  readonly jobId: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** No other attempt follows when this one fails. */
  readonly lastAttempt: boolean;
  /** Aborts with LockLostError or HandedBackError; what is not committed by then must not be. */
  readonly signal: AbortSignal;
  readonly trace: string | undefined;
  readonly logger: Logger;
  /**
   * Tells that what could bring the process down is about to begin, and resolves when that is known. A job of several parts
   * that never came so far is no suspect when its worker dies.
   */
  begin(): Promise<void>;
  /**
   * Tells that what could bring the process down is behind, when much of the job is waiting: a suspect is acquitted then,
   * and the next gets its trial. Without it that happens when the processor ends.
   */
  passed(): void;
}

/** Attempts that were used up under another job (see EnqueueOptions). */
export function triedBefore(opts: unknown): number {
  const { tried } = (opts ?? {}) as { tried?: unknown };
  return typeof tried === 'number' && Number.isSafeInteger(tried) && tried > 0 ? tried : 0;
}

/**
 * One job in a worker's hands, from fetch to outcome. `outcome` settles with what the processor says, or earlier when
 * the job is handed back. Signal and logger are made when first asked for: most jobs need neither.
 */
export class HeldJob implements JobContext {
  readonly jobId: string;
  readonly outcome: Promise<void>;
  readonly startedAt: number;
  /** Monotonic time until which the lock is surely ours. */
  lockedUntil: number;
  /** Set when somebody wants to know (see suspects.ts). */
  onBegin: (() => Promise<void>) | undefined;
  onPassed: (() => void) | undefined;
  private begun: Promise<void> | undefined;
  private settle!: { resolve: () => void; reject: (error: unknown) => void };
  private settled = false;
  private controller: AbortController | undefined;
  private abortReason: Error | undefined;
  private childLogger: Logger | undefined;

  constructor(
    readonly job: Job,
    private readonly token: string,
    private readonly parentLogger: Logger,
    now: number,
    lockMs: number,
    private readonly onSettled: (job: HeldJob) => void,
  ) {
    this.jobId = job.id ?? '';
    this.startedAt = now;
    this.lockedUntil = now + lockMs;
    this.outcome = new Promise<void>((resolve, reject) => {
      this.settle = { resolve, reject };
    });
  }

  /** Whether its process died with it, or with the job it was part of. */
  get suspect(): boolean {
    return this.job.stalledCounter > 0 || (this.job.opts as { suspect?: unknown }).suspect === true;
  }

  get attempt(): number {
    return triedBefore(this.job.opts) + this.job.attemptsMade + 1;
  }

  get lastAttempt(): boolean {
    return this.job.attemptsMade + 1 >= (this.job.opts.attempts ?? 1);
  }

  get trace(): string | undefined {
    const data: unknown = this.job.data;
    return typeof data === 'object' && data !== null && 'trace' in data && typeof data.trace === 'string'
      ? data.trace
      : undefined;
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.abortReason) this.controller.abort(this.abortReason);
    }
    return this.controller.signal;
  }

  begin(): Promise<void> {
    return (this.begun ??= this.onBegin?.() ?? Promise.resolve());
  }

  passed(): void {
    this.onPassed?.();
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

  resolve(): void {
    if (this.end()) this.settle.resolve();
  }

  reject(error: unknown): void {
    if (this.end()) this.settle.reject(error);
  }

  lockLost(): void {
    this.abort(new LockLostError(this.jobId));
  }

  /** Moves the job back to the head of the queue without using up an attempt; the processor's outcome no longer counts. */
  async handBack(): Promise<void> {
    this.abort(new HandedBackError(this.jobId));
    try {
      await this.job.moveToWait(this.token);
      this.reject(new WaitingError());
    } catch (error) {
      this.reject(error);
      throw error;
    }
  }

  /** The job will be fetched again after `ms`; no attempt is used up. */
  async postpone(ms: number): Promise<void> {
    await this.job.moveToDelayed(Date.now() + ms, this.token);
  }

  // Only the first outcome counts: a job that was handed back may still come to an end of its own.
  private end(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.onSettled(this);
    return true;
  }

  private abort(reason: Error): void {
    if (this.abortReason) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
  }
}
