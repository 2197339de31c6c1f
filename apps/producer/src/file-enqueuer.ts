import { FILE_JOB, fileJobId, type FileJob } from '#contracts';
import type { Work } from '#database';
import type { Lease } from '#locking';
import type { EnqueueItem, QueueManager } from '#queue-manager';
import { backoffMs, errorCode, faultPoint, sleep, type Clock, type Logger } from '#service';
import type { QueueableRows } from './registration/queueable.repository.js';
import type { QueueableFile } from './registration/registration.js';

export interface FileEnqueuerOptions {
  queue: string;
  queues: Pick<QueueManager, 'enqueueJobs'>;
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

const BATCH = 1_000;
const CHUNK = 500;
const MAX_WAITING = 4 * BATCH;
// Longer than a tick of the kernel's clock, by which file times are stamped.
const CLOCK_GRAIN_MS = 20;
const RETRY = { baseMs: 200, maxMs: 5_000 };

/**
 * Puts files into the queue, after their rows are committed and while the lease holds, then records that it did. What
 * is lost between the two is enqueued again by the next scan under the same job id. While Redis is away it tries again
 * until the scan ends or loses its lease.
 */
export class FileEnqueuer {
  enqueued = 0;
  private readonly waiting: QueueableFile[] = [];
  private running: Promise<void> | undefined;
  private batch: Promise<void> = Promise.resolve();
  private marking: Promise<void> = Promise.resolve();
  private failure: { error: unknown } | undefined;

  constructor(private readonly options: FileEnqueuerOptions) {}

  /** Accepts files; waits while too many wait. */
  async add(files: readonly QueueableFile[]): Promise<void> {
    this.waiting.push(...files);
    this.running ??= this.waiting.length > 0 ? this.run() : undefined;
    while (this.waiting.length > MAX_WAITING && this.running) await this.batch;
    this.throwIfEnded();
  }

  async drained(): Promise<void> {
    while (this.running) await this.running;
    this.throwIfEnded();
  }

  async idle(): Promise<void> {
    await this.running;
  }

  private throwIfEnded(): void {
    if (this.failure) throw this.failure.error;
    this.options.signal.throwIfAborted();
  }

  private async run(): Promise<void> {
    await Promise.resolve();
    try {
      do {
        if (this.waiting.length > 0) await (this.batch = this.enqueue(this.waiting.splice(0, BATCH)));
        // More may arrive while the last ones are marked.
        if (this.waiting.length === 0) await this.marking;
      } while (this.waiting.length > 0 && !this.options.signal.aborted);
    } catch (error) {
      this.failure = { error };
      this.options.failed(error);
    }
    this.running = undefined;
  }

  private async enqueue(files: readonly QueueableFile[]): Promise<void> {
    await this.outwaitClockGrain(files);
    for (let from = 0; from < files.length; from += CHUNK) {
      if (!(await this.sendPatiently(files.slice(from, from + CHUNK)))) return;
      await faultPoint('producer.mid-enqueue');
    }
    await this.marking;
    this.marking = this.mark(files);
    this.marking.catch(() => {});
  }

  /** Goes on while the next files are sent; there is one at a time. */
  private async mark(files: readonly QueueableFile[]): Promise<void> {
    await faultPoint('producer.after-enqueue');
    const { rows, clock, write } = this.options;
    await write((tx) => rows.markEnqueued(tx, files, clock.now()));
    this.enqueued += files.length;
  }

  /**
   * A file read within the same clock tick as its last change could change again without its times telling. So nobody
   * gets to read it before that tick is over.
   */
  private async outwaitClockGrain(files: readonly QueueableFile[]): Promise<void> {
    const newest = files.reduce((max, { ctimeNs }) => Math.max(max, Number(ctimeNs)), 0) / 1e6;
    const age = this.options.clock.now() - newest;
    if (age >= 0 && age < CLOCK_GRAIN_MS) await sleep(CLOCK_GRAIN_MS - age, this.options.signal);
  }

  /** True when Redis has them; false when the scan was stopped first. Throws when the lease is lost. */
  private async sendPatiently(files: readonly QueueableFile[]): Promise<boolean> {
    const { signal, logger } = this.options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.send(files);
        return true;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        const waitMs = backoffMs(attempt, RETRY);
        logger.warn({ err: error, retry_ms: waitMs }, 'queue does not take jobs; trying again');
        await sleep(waitMs, signal);
      }
    }
    return false;
  }

  private async send(files: readonly QueueableFile[]): Promise<void> {
    const { lease, queues, queue, trace } = this.options;
    await lease.verify();
    await queues.enqueueJobs(
      queue,
      FILE_JOB,
      files.map((file) => fileJob(file, trace)),
    );
  }
}

function fileJob(file: QueueableFile, trace: string): EnqueueItem<FileJob> {
  const { id, revision, path, pathBytes, size } = file;
  const payload: FileJob = { filePath: path, fileSize: size, fileId: id, revision, trace };
  if (pathBytes !== null) payload.pathBytes = pathBytes;
  return { jobId: fileJobId(file), payload };
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
