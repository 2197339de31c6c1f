import { Body, Controller, Param } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { Changes, Reads } from '../http/route.js';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import type { DelayedJobView, Page, QueueView } from '#dlq-client';
import { queueOf } from '#overview';
import { QueueManager, type JobQueue } from '#queue-manager';
import { redactText } from '#service';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { NotFoundProblem } from '../http/problems.js';
import { CheckedQuery, IdempotencyKey } from '../http/query.js';
import { NoteDto, ToInteger } from '../letters/letter.dto.js';

export class DelayedQuery {
  @ApiPropertyOptional({ default: 50, maximum: 200 })
  @IsOptional()
  @ToInteger()
  @IsInt()
  @Min(1)
  @Max(200)
  limit?: number;
}

export class PromoteDto extends NoteDto {
  @ApiProperty({ description: 'The id of the job.' })
  @IsString()
  @Length(1, 512)
  job!: string;
}

/** The queues whose work goes through this pipeline. */
export const queueNames = (
  { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE }: DlqAdminConfig,
  { settings }: QueueManager,
): string[] => [PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE, settings.deadLetterQueue];

@ApiTags('queues')
@Controller('api/v1/queues')
export class QueuesController {
  constructor(
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    private readonly mutations: Mutations,
  ) {}

  @Reads('', 'viewer', 'The queues: what waits, runs and is put off, and whether they are paused.')
  async list(@CurrentCaller() caller: Caller): Promise<Page<QueueView>> {
    const names = queueNames(this.config, this.queues).filter((name) => isSeen(caller, name));
    return { items: await Promise.all(names.map((name) => queueOf(this.queues, name))), next: null };
  }

  @Changes(':id/pause', 'operator', 'Pause a queue for all workers. Jobs that run come to their end.')
  pause(
    @CurrentCaller() caller: Caller,
    @Param('id') queue: string,
    @Body() { note }: NoteDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<QueueView> {
    return this.setPaused(true, caller, queue, note, idempotencyKey);
  }

  @Changes(':id/resume', 'operator', 'Let the workers of a paused queue go on.')
  resume(
    @CurrentCaller() caller: Caller,
    @Param('id') queue: string,
    @Body() { note }: NoteDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<QueueView> {
    return this.setPaused(false, caller, queue, note, idempotencyKey);
  }

  @Reads(
    ':id/delayed',
    'viewer',
    'Jobs that are put off, with their last error, those that are due next first.',
  )
  async delayed(
    @CurrentCaller() caller: Caller,
    @Param('id') queue: string,
    @CheckedQuery(DelayedQuery) { limit }: DelayedQuery,
  ): Promise<Page<DelayedJobView>> {
    const jobs = await this.queue(caller, queue).delayed(limit ?? 50);
    const items = jobs.map((job) => ({
      ...job,
      lastError: job.lastError && redactText(job.lastError.slice(0, 500)),
    }));
    return { items, next: null };
  }

  @Changes(':id/promote', 'operator', 'Make a job that is put off due now.')
  promote(
    @CurrentCaller() caller: Caller,
    @Param('id') queue: string,
    @Body() { job, note }: PromoteDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<{ job: string; promoted: boolean }> {
    return this.mutations.perform({
      ...{
        caller,
        action: 'job.promote',
        target: `queue:${queue.slice(0, 128)}`,
        request: { job },
        note,
        idempotencyKey,
      },
      run: async () => {
        if (!(await this.queue(caller, queue).promote(job))) throw new NotFoundProblem('delayed job');
        return { answer: { job, promoted: true }, after: { job } };
      },
    });
  }

  private setPaused(
    paused: boolean,
    caller: Caller,
    name: string,
    note: string | undefined,
    idempotencyKey: string | undefined,
  ): Promise<QueueView> {
    const action = paused ? 'queue.pause' : 'queue.resume';
    return this.mutations.perform({
      ...{ caller, action, target: `queue:${name.slice(0, 128)}`, request: {}, note, idempotencyKey },
      run: async () => {
        const queue = this.queue(caller, name);
        const before = { paused: await queue.paused() };
        await queue.setPaused(paused);
        return { answer: await queueOf(this.queues, name), before, after: { paused } };
      },
    });
  }

  private queue(caller: Caller, name: string): JobQueue {
    if (!queueNames(this.config, this.queues).includes(name) || !isSeen(caller, name))
      throw new NotFoundProblem('queue');
    return this.queues.getQueue(name);
  }
}

const isSeen = ({ queues }: Caller, queue: string): boolean => !queues || queues.includes(queue);
