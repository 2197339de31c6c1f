import { Body, Param, Query } from '@nestjs/common';
import { Changes, Reads, Routes } from '../http/route.js';
import type { DelayedJobView, Page, QueueView } from '#dlq-client';
import { queueOf } from '#overview';
import { QueueManager, type JobQueue } from '#queue-manager';
import { redactText } from '#service';
import { CurrentCaller, sees, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { NoteDto, PageLimit, Required, text } from '../http/field.js';
import { notFound } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';

class DelayedQuery {
  @PageLimit limit = 50;
}

class PromoteDto extends NoteDto {
  @Required({ description: 'The id of the job.' }, ...text(1, 512)) job!: string;
}

/** The queues whose work goes through this pipeline. */
export const queueNames = (
  { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE }: DlqAdminConfig,
  { settings }: QueueManager,
): string[] => [PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE, settings.deadLetterQueue];

@Routes('queues')
export class QueuesController {
  constructor(
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    private readonly mutations: Mutations,
  ) {}

  @Reads('', 'viewer', 'The queues: what waits, runs and is put off, and whether they are paused.')
  async list(@CurrentCaller() caller: Caller): Promise<Page<QueueView>> {
    const names = queueNames(this.config, this.queues).filter((name) => sees(caller, name));
    return { items: await Promise.all(names.map((name) => queueOf(this.queues, name))), next: null };
  }

  @Changes(':id/pause', 'operator', 'Pause a queue for all workers. Jobs that run come to their end.')
  pause(@Asked() asked: AskedBy, @Param('id') id: string, @Body() { note }: NoteDto): Promise<QueueView> {
    return this.setPaused(true, id, { ...asked, note });
  }

  @Changes(':id/resume', 'operator', 'Let the workers of a paused queue go on.')
  resume(@Asked() asked: AskedBy, @Param('id') id: string, @Body() { note }: NoteDto): Promise<QueueView> {
    return this.setPaused(false, id, { ...asked, note });
  }

  @Reads(':id/delayed', 'viewer', 'Jobs that are put off, with their last error, the one due next first.')
  async delayed(
    @CurrentCaller() caller: Caller,
    @Param('id') queue: string,
    @Query() query: DelayedQuery,
  ): Promise<Page<DelayedJobView>> {
    const jobs = await this.queue(caller, queue).delayed(query.limit);
    const told = (error: string | null) => error && redactText(error.slice(0, 500));
    return { items: jobs.map((job) => ({ ...job, lastError: told(job.lastError) })), next: null };
  }

  @Changes(':id/promote', 'operator', 'Make a job that is put off due now.')
  promote(
    @Asked() asked: AskedBy,
    @Param('id') id: string,
    @Body() { job, note }: PromoteDto,
  ): Promise<{ job: string; promoted: boolean }> {
    const mutation = { ...asked, note, action: 'job.promote', target: targetOf(id), request: { job } };
    return this.mutations.perform(mutation, async () => {
      if (!(await this.queue(asked.caller, id).promote(job))) throw notFound('delayed job');
      return { answer: { job, promoted: true }, after: { job } };
    });
  }

  private setPaused(paused: boolean, id: string, asked: AskedBy & NoteDto): Promise<QueueView> {
    const mutation = { ...asked, action: paused ? 'queue.pause' : 'queue.resume', target: targetOf(id) };
    return this.mutations.perform(mutation, async () => {
      const queue = this.queue(asked.caller, id);
      const before = { paused: await queue.paused() };
      await queue.setPaused(paused);
      return { answer: await queueOf(this.queues, id), before, after: { paused } };
    });
  }

  private queue(caller: Caller, name: string): JobQueue {
    if (!queueNames(this.config, this.queues).includes(name) || !sees(caller, name)) throw notFound('queue');
    return this.queues.getQueue(name);
  }
}

const targetOf = (queue: string): string => `queue:${queue.slice(0, 128)}`;
