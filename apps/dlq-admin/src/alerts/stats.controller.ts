import { Body, Inject, Query } from '@nestjs/common';
import { Changes, Reads, Routes } from '../http/route.js';
import type { AlertView, Stats } from '#dlq-client';
import { DeadEvents } from '#outbox';
import { QueueManager } from '#queue-manager';
import { CLOCK, type Clock } from '#service';
import { actorOf, CurrentCaller, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { between, NoteDto, Optional, Required, text, ToInteger } from '../http/field.js';
import { notFound } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';
import { Alerts } from './alerts.service.js';
import { SamplesRepository } from './samples.repository.js';

const POINTS = 240;

class StatsQuery {
  @Optional({ default: 24, description: 'Hours of depth to show.' }, ToInteger(), ...between(1, 168))
  hours?: number;
}

class AcknowledgeDto extends NoteDto {
  @Required({ description: 'The rule, as in the configuration.', example: 'depth>100/50' }, ...text(1, 300))
  rule!: string;
}

@Routes('stats', '')
export class StatsController {
  constructor(
    private readonly samples: SamplesRepository,
    private readonly alerts: Alerts,
    private readonly queues: QueueManager,
    private readonly mutations: Mutations,
    private readonly events: DeadEvents,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Reads('stats', 'viewer', 'Depth now and over time, by queue; alerts.')
  async show(@CurrentCaller() caller: Caller, @Query() { hours }: StatsQuery): Promise<Stats> {
    const now = this.clock.now();
    const since = now - (hours ?? 24) * 3_600_000;
    const [queues, byStatus, depth, alerts, deadEvents, waiting] = await Promise.all([
      this.samples.queues(caller.queues),
      this.samples.byStatus(caller.queues),
      this.samples.depth(caller.queues, since, now, POINTS),
      this.alerts.list(),
      caller.queues ? 0 : this.events.count(),
      this.queues.deadLetters.count().catch(() => null),
    ]);
    const open = queues.reduce((sum, queue) => sum + queue.open, 0);
    const visible = alerts.filter(({ rule }) => isSeen(caller, rule));
    return { at: now, open, ...byStatus, deadEvents, waiting, queues, depth, alerts: visible };
  }

  @Changes('alerts/acknowledge', 'operator', 'Say that somebody looks after an alert, until it clears.')
  acknowledge(@Asked() asked: AskedBy, @Body() { rule, note }: AcknowledgeDto): Promise<AlertView> {
    const mutation = { ...asked, note, action: 'alert.acknowledge', target: `alert:${rule}` };
    return this.mutations.perform(mutation, async (tx) => {
      const by = actorOf(asked.caller);
      const seen = isSeen(asked.caller, rule);
      const alert = seen && (await this.alerts.acknowledge(tx, rule, by));
      if (!alert) throw notFound('alert that fires');
      return { answer: alert, after: { acknowledgedBy: by } };
    });
  }
}

/** A key for some queues sees the alerts of these. */
const isSeen = ({ queues }: Caller, rule: string): boolean =>
  !queues || queues.some((queue) => rule.includes(`@${queue}>`));
