import { FILE_JOB } from '#contracts';
import type { Work } from '#database';
import type { Lease } from '#locking';
import type { JobQueue } from '#queue-manager';
import { backoffMs, errorCode, faultPoint, sleep, tellDone, type Clock, type Logger } from '#service';
import { itemOf, jobsOf, type QueueableJob } from './file-jobs.js';
import type { QueueableRows } from './registration/queueable.repository.js';
import type { QueueableFile } from './registration/registration.js';

export interface FileEnqueuerOptions {
  queue: Pick<JobQueue, 'enqueue'>;
  lease: Pick<Lease, 'verify'>;
  rows: QueueableRows;
  write: <T>(work: Work<T>) => Promise<T>;
  clock: Clock;
  logger: Logger;
  trace: string;
  /** Told of the first error, once: nothing is written after it. */
  failed: (error: unknown) => void;
  signal: AbortSignal;
}

const CHUNK = 500;
// One chunk is made ready while Redis takes the other.
const LANES = 2;
const MARK = 1_000;
const MAX_HELD = 2 * MARK;
// Longer than a tick of the kernel's clock, by which file times are stamped.
const CLOCK_GRAIN_MS = 20;
const RETRY = { baseMs: 200, maxMs: 5_000 };

/**
 * Puts files into the queue, after their rows are committed and while the lease holds, then records that it did. What
 * is lost between the two is enqueued again by the next scan. While Redis is away it tries again
 * until the scan ends or loses its lease.
 */
export class FileEnqueuer {
  enqueued = 0;
  private readonly waiting: QueueableJob[] = [];
  /** Files of the jobs that wait. */
  private unsent = 0;
  private readonly sent: QueueableFile[] = [];
  private readonly running = new Set<Promise<void>>();
  private lanes = 0;
  private marking = false;
  private failure: { error: unknown } | undefined;

  constructor(private readonly options: FileEnqueuerOptions) {}

  /** Accepts files, all that share a job at once; waits while too many wait to be sent or marked. */
  async add(files: readonly QueueableFile[]): Promise<void> {
    for (const job of jobsOf(files)) this.waiting.push(job);
    this.unsent += files.length;
    tellDone({ queued: files.length });
    while (this.lanes < LANES && this.unsent > this.lanes * CHUNK) this.openLane();
    while (this.unsent + this.sent.length > MAX_HELD && this.running.size > 0)
      await Promise.race(this.running);
    this.throwIfEnded();
  }

  async drained(): Promise<void> {
    await this.idle();
    this.throwIfEnded();
  }

  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.race(this.running);
  }

  private throwIfEnded(): void {
    if (this.failure) throw this.failure.error;
    this.options.signal.throwIfAborted();
  }

  private get ended(): boolean {
    return this.failure !== undefined || this.options.signal.aborted;
  }

  /** Never rejects: the first error ends everything. */
  private start(task: () => Promise<void>): void {
    const run = task().catch((error: unknown) => {
      if (this.failure) return;
      this.failure = { error };
      this.options.failed(error);
    });
    const tracked = run.then(() => void this.running.delete(tracked));
    this.running.add(tracked);
  }

  private openLane(): void {
    this.lanes++;
    this.start(async () => {
      // What is added in the same turn is sent together.
      await Promise.resolve();
      try {
        while (this.waiting.length > 0 && !this.ended) await this.sendChunk(this.takeChunk());
      } finally {
        this.lanes--;
      }
      this.openMarking();
    });
  }

  /** Jobs of about a chunk of files. */
  private takeChunk(): QueueableJob[] {
    let files = 0;
    const last = this.waiting.findIndex((job) => (files += job.files.length) >= CHUNK);
    this.unsent -= files;
    return this.waiting.splice(0, last === -1 ? this.waiting.length : last + 1);
  }

  private async sendChunk(jobs: readonly QueueableJob[]): Promise<void> {
    const files = jobs.flatMap((job) => job.files);
    await this.waitPastTimestampGranularity(files);
    if (!(await this.sendPatiently(jobs))) return;
    await faultPoint('producer.mid-enqueue');
    for (const file of files) this.sent.push(file);
    this.openMarking();
  }

  /** Goes on while the next files are sent, as soon as they fill a transaction or are the last. */
  private openMarking(): void {
    const due = this.sent.length >= MARK || (this.sent.length > 0 && this.lanes === 0);
    if (this.marking || !due) return;
    this.marking = true;
    this.start(async () => {
      try {
        while (this.sent.length > 0 && !this.failure) await this.mark(this.sent.splice(0, MARK));
      } finally {
        this.marking = false;
      }
    });
  }

  private async mark(files: readonly QueueableFile[]): Promise<void> {
    await faultPoint('producer.after-enqueue');
    const { rows, write } = this.options;
    await write((tx) => rows.markEnqueued(tx, files));
    this.enqueued += files.length;
  }

  /**
   * A file read within the same clock tick as its last change could change again without its times telling. So nobody
   * gets to read it before that tick is over.
   */
  private async waitPastTimestampGranularity(files: readonly QueueableFile[]): Promise<void> {
    const newest = files.reduce((max, { ctimeNs }) => Math.max(max, Number(ctimeNs)), 0) / 1e6;
    const age = this.options.clock.now() - newest;
    if (age >= 0 && age < CLOCK_GRAIN_MS) await sleep(CLOCK_GRAIN_MS - age, this.options.signal);
  }

  /** True when Redis has them; false when the scan was stopped first. Throws when the lease is lost. */
  private async sendPatiently(jobs: readonly QueueableJob[]): Promise<boolean> {
    const { signal, logger } = this.options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.send(jobs);
        return true;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        const waitMs = backoffMs(attempt, RETRY);
        logger.warn({ err: error, retry_ms: waitMs }, `enqueue failed; retrying in ${waitMs} ms`);
        await sleep(waitMs, signal);
      }
    }
    return false;
  }

  private async send(jobs: readonly QueueableJob[]): Promise<void> {
    const { lease, queue, trace } = this.options;
    await lease.verify();
    await queue.enqueue(
      FILE_JOB,
      jobs.map((job) => itemOf(job, trace)),
    );
  }
}

/** Redis is away or says nothing, which passes; a lost lease or a refused payload does not. */
function isUnavailable(error: unknown): boolean {
  const code = errorCode(error);
  return (
    code === 'LOCK_UNAVAILABLE' ||
    code === 'ENQUEUE_FAILED' ||
    code === 'CIRCUIT_OPEN' ||
    code === 'REDIS_UNAVAILABLE'
  );
}
