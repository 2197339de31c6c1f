import { Inject, Injectable } from '@nestjs/common';
import { Database, type EntityManager } from '#database';
import { append } from '#outbox';
import { CLOCK, LOGGER, Loop, type Clock, type Logger, Metrics, type Service } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { AlertStates } from './alert-states.repository.js';
import {
  nextState,
  parseAlertRule,
  valueOf,
  type AlertRule,
  type AlertState,
  type Readings,
} from './rules.js';
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
export class Alerts implements Service {
  readonly name = 'alerts';
  private readonly loop: Loop;
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
    this.loop = new Loop({
      name: 'alerts',
      logger,
      idleMs: config.SAMPLE_INTERVAL_MS,
      tick: () => this.tick(),
    });
  }

  start(): Promise<void> {
    return this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  async tick(): Promise<void> {
    const now = this.clock.now();
    const readings = await this.samples.readings(now);
    this.publish(readings);
    const at = now - (now % this.config.SAMPLE_INTERVAL_MS);
    await this.database.inTransaction(async (tx) => {
      await this.samples.record(tx, at, readings);
      if (this.rounds++ % PRUNE_EVERY > 0) return;
      await this.samples.prune(tx, now - RETENTION_MS, now);
      await this.states.keepOnly(
        tx,
        this.rules.map(({ rule }) => rule),
      );
    });
    const muted = await this.samples.muted(now);
    const heard = muted.length > 0 ? await this.samples.readings(now, muted) : readings;
    for (const rule of this.rules) await this.judge(rule, valueOf(rule, heard), now);
  }

  private publish(readings: ReadonlyMap<string, Readings>): void {
    for (const [queue, { depth, age }] of readings) {
      this.depth.set({ queue }, depth);
      this.oldest.set({ queue }, age);
    }
  }

  private async judge(rule: AlertRule, value: number, now: number): Promise<void> {
    const to = await this.database.inTransaction(async (tx) => {
      const from = await this.states.of(tx, rule.rule);
      const next = nextState(rule, from, value);
      const changed = await this.states.move(tx, rule.rule, from, next, value, now);
      if (changed) await this.notify(tx, rule, next, value, now);
      return { next, changed };
    });
    this.firing.set({ rule: rule.rule }, to.next === 'firing' ? 1 : 0);
    if (to.changed) this.tell(rule, to.next, value);
  }

  private tell(rule: AlertRule, state: AlertState, value: number): void {
    const facts = {
      rule: rule.rule,
      queue: rule.queue ?? 'all',
      value,
      raise: rule.raise,
      resolve: rule.resolve,
    };
    if (state === 'firing')
      this.logger.error(facts, `dead letters: ${rule.metric} is ${value}, above ${rule.raise}`);
    else this.logger.info(facts, `dead letters: ${rule.metric} is ${value}, resolved`);
  }

  private async notify(
    tx: EntityManager,
    rule: AlertRule,
    state: AlertState,
    value: number,
    now: number,
  ): Promise<void> {
    if (!this.config.ALERT_WEBHOOK_URL) return;
    await append(tx, {
      queue: ALERTS_QUEUE,
      eventName: `alert-${state}`,
      orderingKey: `alert:${rule.rule}`,
      payload: {
        state,
        rule: rule.rule,
        metric: rule.metric,
        queue: rule.queue,
        value,
        raise: rule.raise,
        resolve: rule.resolve,
        at: now,
      },
    });
  }
}
