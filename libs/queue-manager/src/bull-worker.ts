import { Worker, type Job, type JobJson, type Processor, type WorkerOptions } from 'bullmq';
import { CORRUPT_RECORD_REASON } from './dead-letter.js';
import type { HeldJobs } from './held-jobs.js';

/** What its owner has of the jobs that it fetches. */
interface Intake {
  /** Those in hand, which are told of renewed and lost locks. */
  held: HeldJobs;
  /** What the jobs in hand may weigh together; one more may be begun while they weigh less. */
  capacity: number;
  weigh: (data: unknown) => number;
  /** Redis answered when asked for a job (whether or not there was one). */
  onFetch: () => void;
}

/** The data of a job whose stored data is not JSON; the processor's wrapper refuses it. */
export const UNREADABLE = Symbol('unreadable job data');

const MAX_DATA = 64 * 1024 * 1024;
/** Jobs fetched and not begun. */
export const FETCHED_AHEAD = 32;

/**
 * BullMQ's worker with the holes closed that we know of: a job whose data is not JSON does not wedge the fetch loop, a
 * resumed run cannot reject unobserved, lock renewals are seen with their send time, a close that hangs can be
 * abandoned, and jobs are begun while others are fetched. (BullMQ fetches as many as it may have, one by one, before it
 * begins the first; their locks, not renewed yet, run out when they are many and Redis is far.)
 */
export class BullWorker extends Worker {
  private readonly most: number;
  private inHand = { jobs: 0, weight: 0, latest: 1 };

  constructor(
    name: string,
    processor: Processor,
    options: WorkerOptions,
    private readonly intake: Intake,
  ) {
    super(name, processor, options);
    this.most = this.concurrency;
    this.limitFetching();
  }

  override async run(): Promise<void> {
    try {
      await super.run();
    } catch (error) {
      this.emit('error', error instanceof Error ? error : new Error(String(error)));
    }
  }

  override async extendJobLocks(ids: string[], tokens: string[], duration: number): Promise<string[]> {
    const { held } = this.intake;
    const sentAt = held.now();
    const failed = await super.extendJobLocks(ids, tokens, duration);
    held.renewed(ids, sentAt);
    held.lost(failed);
    return failed;
  }

  /** Ends what `close` could not end in time: timers, then both connections, without waiting for Redis. */
  async abandon(): Promise<void> {
    await this.lockManager.close();
    await this.backend.close(true).catch(() => {});
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    const job = await super.moveToActive(token, name);
    this.intake.onFetch();
    return job;
  }

  protected override async callProcessJob(job: Job, token: string, signal?: AbortSignal): Promise<unknown> {
    const weight = this.intake.weigh(job.data);
    this.took(1, weight);
    try {
      return await (super.callProcessJob(job, token, signal) as Promise<unknown>);
    } finally {
      this.took(-1, -weight);
    }
  }

  protected override createJob(json: JobJson, jobId: string): Job {
    this.intake.onFetch();
    const data = parse(json.data);
    json.data = '{}';
    const job = super.createJob(json, jobId);
    job.data = data;
    // Whoever enqueued it, a failed job is removed by nobody but the dead-letter sweep.
    if (job.opts.removeOnFail !== undefined) job.opts.removeOnFail = undefined;
    if (job.opts.removeOnComplete !== undefined) job.opts.removeOnComplete = undefined;
    return job;
  }

  private took(jobs: number, weight: number): void {
    this.inHand.jobs += jobs;
    this.inHand.weight += weight;
    this.inHand.latest = Math.abs(weight);
    this.limitFetching();
  }

  /** What is to come is taken to weigh what the latest did. */
  private limitFetching(): void {
    const { jobs, weight, latest } = this.inHand;
    const room = Math.ceil(Math.max(0, this.intake.capacity - weight) / Math.max(1, latest));
    this.concurrency = Math.max(1, Math.min(this.most, jobs + Math.min(FETCHED_AHEAD, room)));
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
