import { FILE_JOB } from '#contracts';
import { backoffMs, Coalescer, errorCode, faultPoint, sleep, tellDone } from '#service';
import { itemOf, jobsOf, type QueueableJob } from './file-jobs.js';
import type { QueueableFile } from './registration/registration.js';
import type { Scan } from './scan.js';

const CHUNK = 500;
const MARKS_PER_TRANSACTION = 20_000;
// What is batched meanwhile needs no mark, which is most files; whoever looks for lost jobs waits seconds for them.
const GATHER_MARKS_MS = 1_000;
const PAGE = 1_000;
// Longer than a tick of the kernel's clock, by which file times are stamped.
const CLOCK_GRAIN_MS = 20;
const RETRY = { baseMs: 200, maxMs: 5_000 };
// Redis is away or says nothing, which passes; a lost lease or a refused payload does not.
const PASSING = ['LOCK_UNAVAILABLE', 'ENQUEUE_FAILED', 'CIRCUIT_OPEN', 'REDIS_UNAVAILABLE'];

/**
 * Puts files into the queue, after their rows are committed and while the lease holds, then records that it did. What
 * is lost between the two is enqueued again by the next scan. While Redis is away it tries again
 * until the scan ends or loses its lease.
 */
export class FileEnqueuer {
  enqueued = 0;
  /** Never rejects: the first error ends the scan. */
  private last: Promise<void> = Promise.resolve();
  private readonly marks = new Coalescer<readonly QueueableFile[], void>({
    work: (sent) => this.mark(sent.flat()),
    weigh: ({ length }) => length,
    limit: MARKS_PER_TRANSACTION,
    gatherMs: GATHER_MARKS_MS,
    blames: () => false,
  });

  constructor(private readonly scan: Pick<Scan, 'parts' | 'signal' | 'fail'>) {}

  /** Accepts files, all that share a job at once; waits until those before are sent. */
  async add(files: readonly QueueableFile[]): Promise<void> {
    this.scan.signal.throwIfAborted();
    tellDone({ queued: files.length });
    const before = this.last;
    this.last = before.then(() => this.enqueue(files)).catch((error: unknown) => this.scan.fail(error));
    await before;
  }

  /** Until all are sent and marked. */
  async drained(): Promise<void> {
    await this.idle();
    this.scan.signal.throwIfAborted();
  }

  async idle(): Promise<void> {
    await this.last;
    await this.marks.drained();
  }

  private async enqueue(files: readonly QueueableFile[]): Promise<void> {
    const sent: QueueableFile[] = [];
    for (const jobs of chunks(jobsOf(files))) {
      await this.waitPastTimestampGranularity(jobs);
      if (!(await this.sendPatiently(jobs))) break;
      await faultPoint('producer.mid-enqueue');
      for (const job of jobs) sent.push(...job.files);
    }
    if (sent.length > 0) this.marks.add(sent).catch((error: unknown) => this.scan.fail(error));
  }

  private async mark(files: readonly QueueableFile[]): Promise<void> {
    await faultPoint('producer.after-enqueue');
    const { rows, write } = this.scan.parts;
    await write((tx) => rows.files.markEnqueued(tx, files));
    this.enqueued += files.length;
  }

  /**
   * A file read within the same clock tick as its last change could change again without its times telling. So nobody
   * gets to read it before that tick is over.
   */
  private async waitPastTimestampGranularity(jobs: readonly QueueableJob[]): Promise<void> {
    let newest = 0;
    for (const { files } of jobs)
      for (const { ctimeNs } of files) newest = Math.max(newest, Number(ctimeNs) / 1e6);
    const age = this.scan.parts.clock.now() - newest;
    if (age >= 0 && age < CLOCK_GRAIN_MS) await sleep(CLOCK_GRAIN_MS - age, this.scan.signal);
  }

  /** True when Redis has them; false when the scan was stopped first. Throws when the lease is lost. */
  private async sendPatiently(jobs: readonly QueueableJob[]): Promise<boolean> {
    const { signal, parts } = this.scan;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.send(jobs);
        return true;
      } catch (error) {
        if (!PASSING.includes(errorCode(error) ?? '')) throw error;
        const waitMs = backoffMs(attempt, RETRY);
        parts.logger.warn({ err: error, retry_ms: waitMs }, `enqueue failed; retrying in ${waitMs} ms`);
        await sleep(waitMs, signal);
      }
    }
    return false;
  }

  private async send(jobs: readonly QueueableJob[]): Promise<void> {
    const { lease, queue, trace } = this.scan.parts;
    await lease.verify();
    await queue.enqueue(
      FILE_JOB,
      jobs.map((job) => itemOf(job, trace)),
    );
  }
}

/** What an earlier run registered but did not enqueue. */
export async function enqueueLeftovers({ parts, row, enqueuer }: Scan): Promise<void> {
  await enqueuer.drained();
  for (let after = 0; ;) {
    const files = await parts.rows.files.withoutJob(row.rootId, after, PAGE);
    if (files.length === 0) break;
    after = files.at(-1)?.id ?? after;
    await parts.write((tx) => parts.rows.files.nameJobs(tx, files));
    await enqueuer.add(files);
  }
  await enqueuer.drained();
}

/** Jobs of about a chunk of files each. */
function* chunks(jobs: readonly QueueableJob[]): Generator<QueueableJob[]> {
  let files = 0;
  let chunk: QueueableJob[] = [];
  for (const job of jobs) {
    chunk.push(job);
    files += job.files.length;
    if (files < CHUNK) continue;
    yield chunk;
    [files, chunk] = [0, []];
  }
  if (chunk.length > 0) yield chunk;
}
