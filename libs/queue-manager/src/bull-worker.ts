import { Worker, type Job, type JobJson, type WorkerOptions } from 'bullmq';
import type { RedisClient } from '#redis';
import { systemClock, within } from '#service';
import { CORRUPT_RECORD_REASON } from './dead-letter.js';
import { HeldJob, UNREADABLE } from './held-job.js';
import type { QueueWorker } from './queue-worker.js';

const MAX_DATA = 64 * 1024 * 1024;
/** Jobs fetched and not begun. */
export const FETCHED_AHEAD = 32;

/**
 * BullMQ's worker with the holes closed that we know of: a job whose data is not JSON does not wedge the fetch loop, a
 * resumed run cannot reject unobserved, a close that hangs is abandoned, and jobs are begun while others are fetched. (BullMQ
 * fetches as many as it may have, one by one, before it begins the first; their locks, not renewed yet, run out when they are
 * many and Redis is far.)
 * It knows the jobs in its hands and fires the signal of one whose lock was refused or could not be confirmed in time, by a
 * deadline of our own: a renewal that hangs says nothing.
 */
export class BullWorker<T> extends Worker {
  /** What is fetched from now on goes straight back. */
  refusing = false;
  private readonly held = new Set<HeldJob<T>>();
  private readonly most: number;
  private readonly capacity: number;
  private weight = 0;
  private latestWeight = 1;
  private readonly deadlines: NodeJS.Timeout;
  private onEmpty: (() => void) | undefined;

  constructor(
    private readonly owner: QueueWorker<T>,
    options: Omit<WorkerOptions, 'connection'>,
    private readonly ownClient: RedisClient,
  ) {
    super(owner.queue.name, async () => {}, { ...options, connection: ownClient });
    this.most = this.concurrency;
    this.capacity = owner.options.capacity ?? Infinity;
    this.deadlines = setInterval(() => {
      const now = systemClock.monotonic();
      for (const job of this.held) if (job.lockedUntil <= now) job.lockLost();
    }, owner.queue.owner.settings.times.heldCheckMs).unref();
    this.limitFetching();
  }

  /** Jobs in hand. */
  get active(): number {
    return this.held.size;
  }

  override async run(): Promise<void> {
    try {
      await super.run();
    } catch (error) {
      this.emit('error', error instanceof Error ? error : new Error(String(error)));
    }
  }

  override async extendJobLocks(ids: string[], tokens: string[], duration: number): Promise<string[]> {
    const lockedUntil = systemClock.monotonic() + this.owner.queue.owner.settings.times.lockMs;
    const failed = await super.extendJobLocks(ids, tokens, duration);
    const [asked, lost] = [new Set(ids), new Set(failed)];
    for (const job of this.held) {
      if (asked.has(job.jobId)) job.lockedUntil = lockedUntil;
      if (lost.has(job.jobId)) job.lockLost();
    }
    return failed;
  }

  /** Resolves true when no job is held any more, false when that takes longer than `ms`. */
  async isEmptyWithin(ms: number): Promise<boolean> {
    if (this.held.size === 0) return true;
    const empty = new Promise<boolean>((resolve) => (this.onEmpty = () => resolve(true)));
    return within(ms, empty, () => false);
  }

  /** Hands every held job back; resolves with how many could not be. */
  async handBackAll(): Promise<number> {
    const results = await Promise.allSettled([...this.held].map((job) => job.handBack()));
    return results.filter(({ status }) => status === 'rejected').length;
  }

  /** Closes, or, when that takes longer than `ms`, ends timers and both connections without waiting for Redis. */
  async end(ms: number): Promise<void> {
    const closed = this.close().then(() => true);
    if (!(await within(ms, closed, () => false).catch(() => false))) {
      await this.lockManager.close();
      await this.backend.close(true).catch(() => {});
    }
    clearInterval(this.deadlines);
    this.ownClient.disconnect();
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    const job = await super.moveToActive(token, name);
    this.owner.watchdog.fetched();
    return job;
  }

  protected override async callProcessJob(job: Job, token: string): Promise<void> {
    const held = new HeldJob(job, token, this.owner);
    const weight = this.owner.options.weigh?.(job.data) ?? 1;
    this.held.add(held);
    this.took(weight);
    try {
      const work = this.refusing ? held.handBack().then(() => held.handedBack) : held.work();
      await Promise.race([work, held.handedBack]);
    } finally {
      this.held.delete(held);
      this.took(-weight);
      if (this.held.size === 0) this.onEmpty?.();
    }
  }

  protected override createJob(json: JobJson, jobId: string): Job {
    this.owner.watchdog.fetched();
    const data = parse(json.data);
    json.data = '{}';
    const job = super.createJob(json, jobId);
    job.data = data;
    // Whoever enqueued it, a failed job is removed by nobody but the dead-letter sweep.
    if (job.opts.removeOnFail !== undefined) job.opts.removeOnFail = undefined;
    if (job.opts.removeOnComplete !== undefined) job.opts.removeOnComplete = undefined;
    return job;
  }

  private took(weight: number): void {
    this.weight += weight;
    this.latestWeight = Math.abs(weight);
    this.limitFetching();
  }

  /** What is to come is taken to weigh what the latest did. */
  private limitFetching(): void {
    const room = Math.ceil(Math.max(0, this.capacity - this.weight) / Math.max(1, this.latestWeight));
    this.concurrency = Math.max(1, Math.min(this.most, this.held.size + Math.min(FETCHED_AHEAD, room)));
  }
}

function parse(text: string | undefined): unknown {
  if (text !== undefined && text.length > MAX_DATA) return UNREADABLE;
  try {
    return JSON.parse(text || '{}') as unknown;
  } catch {
    return UNREADABLE;
  }
}

/** Whether the fields that BullMQ parses before it hands out a job are JSON; returns the repair that lets it fail. */
export function repairOf(raw: {
  opts?: string | null;
  progress?: string | null;
  parent?: string | null;
}): Record<string, string> | null {
  const broken = (['opts', 'progress', 'parent'] as const).filter((field) => {
    const text = raw[field];
    if (text === undefined || text === null || text === '') return false;
    try {
      const value: unknown = JSON.parse(text);
      return field === 'opts' && (typeof value !== 'object' || value === null || Array.isArray(value));
    } catch {
      return true;
    }
  });
  if (broken.length === 0) return null;
  const blank = { opts: '{}', progress: '0', parent: '' };
  return {
    ...Object.fromEntries(broken.map((field) => [field, blank[field]])),
    defa: `${CORRUPT_RECORD_REASON}: ${broken.join(', ')} is not JSON`,
  };
}
