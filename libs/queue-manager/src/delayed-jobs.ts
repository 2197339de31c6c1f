import type { JobQueue } from './job-queue.js';

/** A job that is put off: after a failure, or because the world was away. */
export interface DelayedJob {
  id: string;
  name: string;
  enqueuedAt: number;
  nextAttemptAt: number;
  attemptsMade: number;
  lastError: string | null;
}

// Scores are milliseconds times 4096, as BullMQ keeps them.
const SCORE_PER_MS = 4_096;

/** The jobs that are due next, without their data, which may be large. */
export function delayedJobs(queue: JobQueue, limit: number): Promise<DelayedJob[]> {
  return queue.owner.gate.run(`delayed jobs of ${queue.name}`, async (client) => {
    const found = await client.zrange(queue.toKey('delayed'), 0, limit - 1, 'WITHSCORES');
    const due = Array.from(
      { length: found.length / 2 },
      (_, n) => [found[2 * n] ?? '', Number(found[2 * n + 1])] as const,
    );
    const jobs = await Promise.all(
      due.map(async ([id, score]) => {
        const [name, timestamp, attempts, error] = await client.hmget(
          queue.toKey(id),
          ...['name', 'timestamp', 'atm', 'failedReason'],
        );
        const nextAttemptAt = Math.floor(score / SCORE_PER_MS);
        const facts = {
          enqueuedAt: Number(timestamp),
          attemptsMade: Number(attempts ?? 0),
          lastError: error ?? null,
        };
        return typeof name !== 'string' ? [] : [{ id, name, nextAttemptAt, ...facts }];
      }),
    );
    return jobs.flat();
  });
}
