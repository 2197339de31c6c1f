import type { QueueManager } from '#queue-manager';

export interface DeadLetteredJobs {
  has(queue: string, jobId: string): boolean;
}

const MAX_LETTERS = 2_000;
const PAGE = 200;

/**
 * Jobs whose dead letter still waits in the dead-letter queue for dlq-admin: they are gone from their own queue, but not
 * lost. Reads the newest letters only; beyond that a failed job may be tried once more than needed.
 */
export async function deadLetteredJobs(
  queues: Pick<QueueManager, 'getQueue' | 'settings'>,
): Promise<DeadLetteredJobs> {
  const queue = queues.getQueue(queues.settings.deadLetterQueue);
  const found = new Set<string>();
  for (let from = 0; from < MAX_LETTERS; from += PAGE) {
    const jobs = await queue.getJobs(['waiting', 'active', 'delayed', 'failed'], from, from + PAGE - 1);
    for (const job of jobs) {
      const letter = job?.data as { queue?: unknown; jobId?: unknown } | undefined;
      found.add(keyOf(String(letter?.queue), String(letter?.jobId)));
    }
    if (jobs.length < PAGE) break;
  }
  return { has: (name, jobId) => found.has(keyOf(name, jobId)) };
}

const keyOf = (queue: string, jobId: string): string => JSON.stringify([queue, jobId]);
