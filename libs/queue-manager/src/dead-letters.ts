import type { Job } from 'bullmq';
import type { JobQueue } from './job-queue.js';

const PAGE = 200;
const MAX_LETTERS = 2_000;
/** A letter is in one of these states until dlq-admin has stored it. */
const UNREAD = ['wait', 'prioritized', 'active', 'delayed', 'failed'] as const;
const LISTS: ReadonlySet<string> = new Set(['wait', 'active']);

/** The letters in the dead-letter queue that nobody has taken in yet. */
export class DeadLetters {
  constructor(private readonly queue: JobQueue) {}

  /** How many there are. */
  async count(): Promise<number> {
    const { waiting, active, delayed, failed } = await this.queue.counts();
    return waiting + active + delayed + failed;
  }

  /**
   * Which of the queue's jobs have a letter here: they are gone from their own queue, but they failed and are not lost.
   * Looks at a bounded number of letters; beyond it a failed job may be tried once more than needed.
   */
  async contains(origin: string, ids: ReadonlySet<string>): Promise<Set<string>> {
    const found = new Set<string>();
    for (let start = 0; start < MAX_LETTERS && found.size < ids.size; start += PAGE) {
      const letters = await this.page(start);
      for (const { queue, jobId } of letters)
        if (queue === origin && typeof jobId === 'string' && ids.has(jobId)) found.add(jobId);
      if (letters.length === 0) break;
    }
    return found;
  }

  /** Letters whose own job was given up or put off. `remove` says whether the job was still there. */
  async setAside(limit: number) {
    const { queue } = this;
    const ids = await queue.getRanges(['failed', 'delayed'], 0, limit - 1, true);
    const jobs = await Promise.all(ids.map((id) => queue.getJob(id).catch(() => undefined)));
    return jobs.flatMap((job) =>
      job?.id ? [{ jobId: job.id, data: job.data as unknown, remove: () => removed(job) }] : [],
    );
  }

  private async page(start: number): Promise<{ queue?: unknown; jobId?: unknown }[]> {
    const { queue } = this;
    // Plain commands: a script needs the right to write to every key that it names, and not all who ask here have it.
    return queue.ask('read dead letters of', async (client) => {
      const ids = await Promise.all(
        UNREAD.map((state) => {
          const range = [queue.toKey(state), start, start + PAGE - 1] as const;
          return LISTS.has(state) ? client.lrange(...range) : client.zrange(...range);
        }),
      );
      const data = await Promise.all(ids.flat().map((id) => client.hget(queue.toKey(id), 'data')));
      return data.map((text) => ({ ...(JSON.parse(text ?? 'null') as object | null) }));
    });
  }
}

const removed = (job: Job): Promise<boolean> =>
  job.remove().then(
    () => true,
    () => false,
  );
