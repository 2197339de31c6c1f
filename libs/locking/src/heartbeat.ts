import type { Clock } from '#service';
import type { HeldLease } from './lease.js';
import { nextRenewal, renewalIntervalMs, retryRenewal } from './lease-time.js';

/** `renewAt` is undefined while a renewal is under way. */
interface Beat {
  intervalMs: number;
  renewAt: number | undefined;
}

/**
 * Keeps the held leases: renews each well before its deadline and declares it lost at the deadline, whether or not Redis
 * answers. One timer for all; when nothing is held it lapses by itself, which saves a short lease from setting one.
 */
export class Heartbeat {
  private readonly beats = new Map<HeldLease, Beat>();
  private timer: NodeJS.Timeout | undefined;
  private wakeAt = Infinity;
  private readonly beat = (): void => this.tick();

  constructor(
    private readonly everyMs: number,
    private readonly clock: Clock,
    private readonly random: () => number = Math.random,
  ) {}

  get leases(): readonly HeldLease[] {
    return [...this.beats.keys()];
  }

  get size(): number {
    return this.beats.size;
  }

  get beating(): boolean {
    return this.timer !== undefined;
  }

  add(lease: HeldLease): void {
    const intervalMs = renewalIntervalMs(this.everyMs, lease.leaseMs);
    const beat: Beat = { intervalMs, renewAt: this.renewAfter(intervalMs) };
    this.beats.set(lease, beat);
    this.wakeBy(due(lease, beat));
  }

  remove(lease: HeldLease): void {
    this.beats.delete(lease);
  }

  stop(): void {
    this.beats.clear();
    this.rest();
  }

  /** One look at every lease: what is due is lost, what is soon due is renewed. */
  tick(): void {
    this.rest();
    const now = this.clock.monotonic();
    for (const [lease, beat] of this.beats) {
      // First the deadline: after a pause of this process both are due, and then it is too late to renew.
      lease.loseIfDue();
      if (beat.renewAt !== undefined && beat.renewAt <= now && lease.held) void this.renew(lease, beat);
    }
    for (const [lease, beat] of this.beats) this.wakeBy(due(lease, beat));
  }

  private async renew(lease: HeldLease, beat: Beat): Promise<void> {
    beat.renewAt = undefined;
    const renewed = await lease.renew();
    beat.renewAt = renewed
      ? this.renewAfter(beat.intervalMs)
      : retryRenewal(this.clock.monotonic(), lease.deadline, beat.intervalMs, this.random);
    if (this.beats.has(lease)) this.wakeBy(due(lease, beat));
  }

  private renewAfter(intervalMs: number): number {
    return nextRenewal(this.clock.monotonic(), intervalMs, this.random);
  }

  private wakeBy(at: number): void {
    if (at >= this.wakeAt) return;
    this.rest();
    this.wakeAt = at;
    // Whole milliseconds, and never late: Node keeps one list of timers for each duration.
    const delayMs = Math.max(0, Math.floor(at - this.clock.monotonic()));
    this.timer = setTimeout(this.beat, delayMs).unref();
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.wakeAt = Infinity;
  }
}

function due(lease: HeldLease, beat: Beat): number {
  return Math.min(lease.deadline, beat.renewAt ?? Infinity);
}
