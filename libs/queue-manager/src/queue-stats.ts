import type { RedisClient, RedisGate } from '#redis';
import type { Queue } from 'bullmq';

export interface QueueCounts {
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
  completed: number;
}

const CHUNK = 1_000;

/** Reads what a queue holds, in bounded commands. */
export class QueueStats {
  constructor(private readonly gate: RedisGate) {}

  async counts(queue: Queue): Promise<QueueCounts> {
    const counts = await this.gate.run(`count ${queue.name}`, () =>
      queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed', 'completed'),
    );
    return {
      waiting: (counts.wait ?? 0) + (counts.prioritized ?? 0),
      active: counts.active ?? 0,
      delayed: counts.delayed ?? 0,
      failed: counts.failed ?? 0,
      completed: counts.completed ?? 0,
    };
  }

  /** How long the job that is next in line has waited since it was enqueued; 0 when none waits. */
  oldestWaitingMs(queue: Queue, now: number): Promise<number> {
    return this.gate.run(`age of ${queue.name}`, async (client) => {
      // Jobs are pushed on the left of `wait` and taken from its right.
      const [next, first] = await Promise.all([
        client.lindex(queue.toKey('wait'), -1),
        client.zrange(queue.toKey('prioritized'), 0, 0),
      ]);
      const times = await Promise.all(
        [next, first[0]]
          .filter((id): id is string => typeof id === 'string')
          .map((id) => client.hget(queue.toKey(id), 'timestamp')),
      );
      return times.reduce((oldest, time) => Math.max(oldest, time === null ? 0 : now - Number(time)), 0);
    });
  }

  /** Which of the ids have a job, in whatever state. */
  existing(queue: Queue, ids: readonly string[]): Promise<Set<string>> {
    return this.lookUp(queue, ids, (pipeline, id) => pipeline.exists(queue.toKey(id)));
  }

  /** Which of the ids have a completed job. BullMQ's own question for a state reads the whole waiting list for each job. */
  completed(queue: Queue, ids: readonly string[]): Promise<Set<string>> {
    return this.lookUp(queue, ids, (pipeline, id) => pipeline.zscore(queue.toKey('completed'), id));
  }

  /** The ids for which Redis answers the question with something. */
  private async lookUp(
    queue: Queue,
    ids: readonly string[],
    ask: (pipeline: ReturnType<RedisClient['pipeline']>, id: string) => void,
  ): Promise<Set<string>> {
    const found = new Set<string>();
    for (let at = 0; at < ids.length; at += CHUNK) {
      const chunk = ids.slice(at, at + CHUNK);
      const replies = await this.gate.run(`look up jobs of ${queue.name}`, (client) => {
        const pipeline = client.pipeline();
        for (const id of chunk) ask(pipeline, id);
        return pipeline.exec();
      });
      chunk.forEach((id, index) => {
        const [error, answer] = replies?.[index] ?? [new Error('Connection is closed.'), null];
        if (error) throw error;
        if (answer) found.add(id);
      });
    }
    return found;
  }
}
