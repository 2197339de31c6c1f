import { Inject, Injectable } from '@nestjs/common';
import { Database } from '#database';
import { append } from '#outbox';
import { CLOCK, LOGGER, Loop, type Clock, type Logger, Metrics } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { AlertStates } from './alert-states.repository.js';
import { nextState, parseAlertRule, valueOf, type AlertRule } from './rules.js';
import { SamplesRepository } from './samples.repository.js';
import { ALERTS_QUEUE } from './webhook.service.js';

const RETENTION_MS = 7 * 86_400_000;
const PRUNE_EVERY = 100;

/**
 * Samples depth, arrival rate and age, and tells when a rule begins or ceases to hold: in the log, as a metric, and by
 * webhook through the outbox. Guarantee: a change of state and its notice are one transaction, so each is told once,
 * however many replicas watch.
 */
@Injectable()
export class Alerts extends Loop {
  private readonly rules: AlertRule[];
  private readonly depth;
  private readonly firing;
  private readonly oldest;
  private rounds = 0;

  constructor(
    private readonly database: Database,
    private readonly samples: SamplesRepository,
    private readonly states: AlertStates,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'alerts', logger, idleMs: config.SAMPLE_INTERVAL_MS });
    this.rules = config.ALERT_RULES.flatMap((text) => parseAlertRule(text) ?? []);
    this.depth = metrics.gauge({ name: 'millrace_dlq_depth', help: 'Open dead letters.', labels: ['queue'] });
    this.oldest = metrics.gauge({
      name: 'millrace_dlq_oldest_age_seconds',
      help: 'Age of the oldest open dead letter.',
      labels: ['queue'],
    });
    this.firing = metrics.gauge({
      name: 'millrace_dlq_alert_firing',
      help: 'Whether the alert rule holds.',
      labels: ['rule'],
    });
  }

  override async tick(): Promise<void> {
    const now = this.clock.now();
    const readings = await this.samples.readings(now);
    for (const [queue, { depth, age }] of readings) {
      this.depth.set({ queue }, depth);
      this.oldest.set({ queue }, age);
    }
    const at = now - (now % this.config.SAMPLE_INTERVAL_MS);
    await this.database.inTransaction(async (tx) => {
      await this.samples.record(tx, at, readings);
      if (this.rounds++ % PRUNE_EVERY > 0) return;
      await this.samples.prune(tx, now - RETENTION_MS, now);
      await this.states.keepOnly(tx, this.config.ALERT_RULES);
    });
    const muted = await this.samples.muted(now);
    const heard = muted.length > 0 ? await this.samples.readings(now, muted) : readings;
    for (const rule of this.rules) await this.judge(rule, valueOf(rule, heard), now);
  }

  private async judge(rule: AlertRule, value: number, now: number): Promise<void> {
    const name = rule.rule;
    const { state, changed } = await this.database.inTransaction(async (tx) => {
      const from = await this.states.of(tx, name);
      const to = nextState(rule, from, value);
      const moved = await this.states.move(tx, name, { from, to, value, now });
      if (moved && this.config.ALERT_WEBHOOK_URL)
        await append(tx, {
          ...{ queue: ALERTS_QUEUE, eventName: `alert-${to}`, orderingKey: `alert:${name}` },
          payload: { state: to, ...rule, value, at: now },
        });
      return { state: to, changed: moved };
    });
    this.firing.set({ rule: name }, state === 'firing' ? 1 : 0);
    const facts = { ...rule, queue: rule.queue ?? 'all', value };
    const text = `dead letters: ${rule.metric} is ${value}`;
    if (changed && state === 'firing') this.logger.error(facts, `${text}, above ${rule.raise}`);
    else if (changed) this.logger.info(facts, `${text}, resolved`);
  }
}
