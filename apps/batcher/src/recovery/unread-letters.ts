import type { QueueManager } from '#queue-manager';

const PAGE = 200;
const MAX_LETTERS = 2_000;

/**
 * Which of the jobs have a dead letter that nobody has read yet. Such a job is gone from its queue, but it failed: to
 * enqueue it again as lost would run what crashed its worker over and over. Looks at a bounded number of letters.
 */
export async function unreadLettersOf(
  queues: QueueManager,
  origin: string,
  ids: ReadonlySet<string>,
): Promise<Set<string>> {
  const found = new Set<string>();
  const letters = queues.getQueue(queues.settings.deadLetterQueue);
  for (let start = 0; start < MAX_LETTERS && found.size < ids.size; start += PAGE) {
    const jobs = await letters.getJobs(['wait', 'active', 'delayed'], start, start + PAGE - 1);
    for (const job of jobs) {
      const { queue, jobId } = (job?.data ?? {}) as { queue?: unknown; jobId?: unknown };
      if (queue === origin && typeof jobId === 'string' && ids.has(jobId)) found.add(jobId);
    }
    if (jobs.length < PAGE) break;
  }
  return found;
}
