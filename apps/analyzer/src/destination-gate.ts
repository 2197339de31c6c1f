import { retryAfter, type RetryAfter } from '#queue-manager';
import { down, sleep, systemClock, UP, type Clock, type Health, type Logger } from '#service';
import { BatchRefusedError, DestinationAwayError } from './analyzer.errors.js';

interface DestinationGateOptions {
  /** Where batches go, as people may see it. */
  target: string;
  logger: Pick<Logger, 'warn' | 'info'>;
  /** Tests only: how many times shorter its waits are. */
  haste?: number | undefined;
  clock?: Clock;
  wait?: typeof sleep;
}

type GateState =
  | { state: 'open' }
  | { state: 'waiting'; since: number; until: number; failures: number; reason: string; probing: boolean };

// The floor holds whatever the destination asks for: `Retry-After: 0` from a busy one would be answered at once, for ever.
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const REMEMBERED = 10_000;

/**
 * Stands before the destination. While it is away (no answer, 5xx, busy, no space), no attempt of any batch is used up:
 * one batch at a time, at growing intervals, finds out whether it is back; the others wait. A batch that failed before
 * and fails again although others passed since is itself the suspect: its attempts count, and nobody waits for it, until
 * another fails too.
 */
export class DestinationGate {
  private current: GateState = { state: 'open' };
  private moved = new AbortController();
  private stopped = false;
  private passes = 0;
  /** By batch: how many had passed when it first failed. */
  private readonly failed = new Map<string, number>();
  /** What became of the last batch, and of the last other batch before it. */
  private lately: { batchId: string; passed: boolean }[] = [];
  private readonly clock: Clock;
  private readonly wait: typeof sleep;

  constructor(private readonly options: DestinationGateOptions) {
    this.clock = options.clock ?? systemClock;
    this.wait = options.wait ?? sleep;
  }

  health(): Health {
    const { current } = this;
    if (current.state === 'open') return UP;
    const since = new Date(current.since).toISOString();
    return down(`waiting for ${this.options.target} since ${since}: ${current.reason}`);
  }

  /** Seconds since the destination went away; 0 while it is there. */
  waitingSeconds(): number {
    return this.current.state === 'open' ? 0 : (this.clock.now() - this.current.since) / 1_000;
  }

  async deliver<T>(
    batchId: string,
    signal: AbortSignal,
    send: () => Promise<T>,
  ): Promise<{ outcome: 'delivered'; delivery: T } | RetryAfter> {
    if (!(await this.turn(signal))) return retryAfter(1);
    try {
      const delivery = await send();
      this.passed(batchId);
      return { outcome: 'delivered', delivery };
    } catch (error) {
      const waitMs = signal.aborted ? undefined : this.judge(batchId, error);
      if (waitMs !== undefined) return retryAfter(waitMs, error);
      this.probeEnded();
      throw error;
    }
  }

  /** Batches that wait are handed back. */
  stop(): void {
    this.stopped = true;
    this.move();
  }

  /** False when it stops before there is one. */
  private async turn(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      signal.throwIfAborted();
      const { current } = this;
      if (current.state === 'open') return true;
      if (this.stopped) return false;
      const leftMs = current.until - this.clock.monotonic();
      if (leftMs <= 0 && !current.probing) return (current.probing = true);
      const untilMoved = AbortSignal.any([signal, this.moved.signal]);
      await this.wait(leftMs > 0 ? Math.ceil(leftMs) : LONGEST_WAIT_MS, untilMoved);
    }
  }

  private passed(batchId: string): void {
    this.passes++;
    this.failed.delete(batchId);
    this.note(batchId, true);
    this.open();
  }

  /** How long to wait when the destination is at fault; undefined when the batch is. */
  private judge(batchId: string, error: unknown): number | undefined {
    if (error instanceof BatchRefusedError) this.open();
    if (!(error instanceof DestinationAwayError)) return undefined;
    const suspect = !error.busy && this.isSuspect(batchId);
    this.note(batchId, false);
    this.remember(batchId);
    return suspect ? undefined : this.away(error);
  }

  private open(): void {
    if (this.current.state === 'open') return;
    const { target, logger } = this.options;
    logger.info({ target, waited_s: Math.round(this.waitingSeconds()) }, 'the destination is back');
    this.current = { state: 'open' };
    this.move();
  }

  /** Returns how long to wait. */
  private away(error: DestinationAwayError): number {
    const { current } = this;
    const known = current.state === 'waiting' ? current : undefined;
    const failures = (known?.failures ?? 0) + (known && !known.probing ? 0 : 1);
    const waitMs = waitOf(failures, error.retryAfterMs) / (this.options.haste ?? 1);
    const since = known?.since ?? this.clock.now();
    const until = this.clock.monotonic() + waitMs;
    this.current = { state: 'waiting', since, until, failures, reason: error.what, probing: false };
    this.options.logger.warn(
      { err: error, target: this.options.target, retry_ms: waitMs },
      'the destination takes no batches; waiting for it',
    );
    this.move();
    return waitMs;
  }

  private probeEnded(): void {
    if (this.current.state === 'waiting' && this.current.probing) {
      this.current.probing = false;
      this.move();
    }
  }

  /** It failed before, others passed since, and the last of them did. */
  private isSuspect(batchId: string): boolean {
    const other = this.lately.find((outcome) => outcome.batchId !== batchId);
    return other?.passed === true && (this.failed.get(batchId) ?? Infinity) < this.passes;
  }

  private note(batchId: string, passed: boolean): void {
    const other = this.lately.find((outcome) => outcome.batchId !== batchId);
    this.lately = [{ batchId, passed }, ...(other ? [other] : [])];
  }

  private remember(batchId: string): void {
    if (!this.failed.has(batchId)) this.failed.set(batchId, this.passes);
    if (this.failed.size <= REMEMBERED) return;
    for (const oldest of this.failed.keys()) return void this.failed.delete(oldest);
  }

  private move(): void {
    this.moved.abort();
    this.moved = new AbortController();
  }
}

function waitOf(failures: number, retryAfterMs: number | undefined): number {
  if (retryAfterMs !== undefined && retryAfterMs >= FIRST_WAIT_MS) return retryAfterMs;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10));
}
