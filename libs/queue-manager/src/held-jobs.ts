import { systemClock, within, type Clock } from '#service';
import type { HeldJob } from './held-job.js';
import type { WorkerTimes } from './worker-settings.js';

/**
 * All jobs in one worker's hands. Fires a job's signal when its lock was refused or could not be confirmed in time, by
 * a deadline of our own: a renewal that hangs says nothing.
 */
export class HeldJobs {
  private readonly jobs = new Map<string, HeldJob>();
  private readonly emptied = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly times: WorkerTimes,
    private readonly clock: Clock = systemClock,
  ) {}

  get size(): number {
    return this.jobs.size;
  }

  now(): number {
    return this.clock.monotonic();
  }

  add(job: HeldJob): void {
    this.jobs.set(job.jobId, job);
    this.timer ??= setInterval(() => this.checkDeadlines(), this.times.heldCheckMs).unref();
  }

  delete(job: HeldJob): void {
    if (this.jobs.get(job.jobId) === job) this.jobs.delete(job.jobId);
    if (this.jobs.size > 0) return;
    for (const resolve of this.emptied) resolve();
    this.emptied.clear();
  }

  renewed(ids: readonly string[], sentAt: number): void {
    for (const id of ids) {
      const job = this.jobs.get(id);
      if (job) job.lockedUntil = sentAt + this.times.lockMs;
    }
  }

  lost(ids: readonly string[]): void {
    for (const id of ids) this.jobs.get(id)?.lockLost();
  }

  checkDeadlines(): void {
    const now = this.clock.monotonic();
    for (const job of this.jobs.values()) if (job.lockedUntil <= now) job.lockLost();
  }

  /** Resolves true when no job is held any more, false when that takes longer than `ms`. */
  async drained(ms: number): Promise<boolean> {
    if (this.jobs.size === 0) return true;
    const empty = new Promise<boolean>((resolve) => this.emptied.add(() => resolve(true)));
    return within(ms, empty, () => false);
  }

  /** Hands every held job back; resolves with how many could not be. */
  async handBackAll(): Promise<number> {
    const results = await Promise.allSettled([...this.jobs.values()].map((job) => job.handBack()));
    return results.filter(({ status }) => status === 'rejected').length;
  }

  dispose(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
