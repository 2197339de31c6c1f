import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { Database } from '#database';
import type { Stats } from '#dlq-client';
import { DeadEvents } from '#outbox';
import { QueueManager } from '#queue-manager';
import { CLOCK, type Clock } from '#service';
import { Needs } from '../access/access.decorators.js';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { CheckedQuery } from '../http/query.js';
import { ToInteger } from '../letters/letter.dto.js';
import { AlertStates } from './alert-states.repository.js';
import { SamplesRepository } from './samples.repository.js';

const POINTS = 240;

export class StatsQuery {
  @ApiPropertyOptional({ default: 24, description: 'Hours of depth to show.' })
  @IsOptional()
  @ToInteger()
  @IsInt()
  @Min(1)
  @Max(168)
  hours?: number;
}

@ApiTags('stats')
@Controller('api/v1/stats')
export class StatsController {
  private readonly events: DeadEvents;

  constructor(
    private readonly samples: SamplesRepository,
    private readonly alerts: AlertStates,
    private readonly queues: QueueManager,
    @Inject(CLOCK) private readonly clock: Clock,
    database: Database,
  ) {
    this.events = new DeadEvents(database);
  }

  @Get()
  @Needs('viewer')
  @ApiOperation({ summary: 'Depth now and over time, by queue; alerts.' })
  async show(
    @CurrentCaller() caller: Caller,
    @CheckedQuery(StatsQuery) { hours }: StatsQuery,
  ): Promise<Stats> {
    const now = this.clock.now();
    const since = now - (hours ?? 24) * 3_600_000;
    const [queues, byStatus, depth, alerts, deadEvents, waiting] = await Promise.all([
      this.samples.queues(caller.queues),
      this.samples.byStatus(caller.queues),
      this.samples.depth(caller.queues, since, now, POINTS),
      this.alerts.list(),
      caller.queues ? 0 : this.events.count(),
      this.waiting(),
    ]);
    const open = queues.reduce((sum, queue) => sum + queue.open, 0);
    const visible = alerts.filter(
      ({ rule }) => !caller.queues || caller.queues.some((queue) => rule.includes(`@${queue}>`)),
    );
    return { at: now, open, ...byStatus, deadEvents, waiting, queues, depth, alerts: visible };
  }

  private async waiting(): Promise<number | null> {
    try {
      return await this.queues.deadLetters.count();
    } catch {
      return null;
    }
  }
}
