import { Injectable } from '@nestjs/common';
import { QueueManager } from '#queue-manager';
import { BulkActionsRepository } from './bulk-actions.repository.js';

/**
 * Finds out what became of requeued letters. Failed again: the letter is open once more. Succeeded: its job is published
 * and completed, or gone, and the dead-letter queue holds nothing that could still say otherwise.
 */
@Injectable()
export class Outcomes {
  constructor(
    private readonly repository: BulkActionsRepository,
    private readonly queues: QueueManager,
  ) {}

  /** How many letters of a step have a job that has neither succeeded nor failed yet, and which have failed again. */
  async ofStep(actionId: string, step: number): Promise<{ pending: number; failedIds: number[] }> {
    const before = await this.repository.stepLetters(actionId, step);
    const running = before.filter(({ status }) => status === 'requeued');
    const published = running.filter(({ eventStatus: at }) => at !== 'PENDING' && at !== 'DEAD');
    const unsettled = running.length - published.length + (await this.unended(published));
    // Order matters: a job that was gone above may have been on its way here; only after this is empty are the letters final.
    const drained = unsettled > 0 || (await this.queues.deadLetters.count()) === 0;
    const after = await this.repository.stepLetters(actionId, step);
    return {
      pending: drained ? unsettled : running.length,
      failedIds: after.filter(({ status }) => status !== 'requeued').map(({ letterId }) => letterId),
    };
  }

  /** How many of the jobs are still to come to an end. */
  private async unended(jobs: readonly { queue: string; jobId: string }[]): Promise<number> {
    const counts = [...new Set(jobs.map(({ queue }) => queue))].map(async (queue) => {
      const ids = jobs.filter((job) => job.queue === queue).map(({ jobId }) => jobId);
      const existing = await this.queues.getQueue(queue).existing(ids);
      return existing.size - (await this.queues.getQueue(queue).completed([...existing])).size;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }
}
