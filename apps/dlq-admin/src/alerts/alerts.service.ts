import { Inject, Injectable } from '@nestjs/common';
import { AlertStateEntity, Database, execute, type EntityManager } from '#database';
import type { AlertView } from '#dlq-client';
import { append } from '#outbox';
import { CLOCK, LOGGER, Loop, type Clock, type Logger, Metrics } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { Where } from '../letters/where.js';
import { inWords, nextState, parseAlertRule, valueOf, type AlertRule } from './rules.js';
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
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'alerts', logger, idleMs: config.SAMPLE_INTERVAL_MS });
    this.rules = config.ALERT_RULES.flatMap((text) => parseAlertRule(text) ?? []);
    const gauge = (name: `millrace_${string}`, help: string, of: string) =>
      metrics.gauge({ name, help, labels: [of] });
    this.depth = gauge('millrace_dlq_depth', 'Open dead letters.', 'queue');
    this.oldest = gauge('millrace_dlq_oldest_age_seconds', 'Age of the oldest open dead letter.', 'queue');
    this.firing = gauge('millrace_dlq_alert_firing', 'Whether the alert rule holds.', 'rule');
  }

  async list(): Promise<AlertView[]> {
    const states = await this.database.read((manager) =>
      manager.find(AlertStateEntity, { order: { rule: 'ASC' } }),
    );
    return states.map(viewOf);
  }

  /** Says who looks after an alert; undefined when it does not fire. */
  async acknowledge(tx: EntityManager, rule: string, acknowledgedBy: string): Promise<AlertView | undefined> {
    const firing = { rule, state: 'firing' as const };
    await tx.update(AlertStateEntity, firing, { acknowledgedBy, acknowledgedAt: this.clock.now() });
    const row = await tx.findOneBy(AlertStateEntity, firing);
    return row ? viewOf(row) : undefined;
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
      const gone = new Where().notIn('rule', this.config.ALERT_RULES);
      await execute(tx, `DELETE FROM alert_states ${gone.sql}`, gone.params);
    });
    const muted = await this.samples.muted(now);
    const heard = muted.length > 0 ? await this.samples.readings(now, muted) : readings;
    for (const rule of this.rules) await this.judge(rule, valueOf(rule, heard), now);
  }

  private async judge(rule: AlertRule, value: number, now: number): Promise<void> {
    const name = rule.rule;
    const { state, changed } = await this.database.inTransaction(async (tx) => {
      const from = (await tx.findOneBy(AlertStateEntity, { rule: name }))?.state ?? 'ok';
      const to = nextState(rule, from, value);
      const moved = await move(tx, { rule: name, state: from }, { state: to, value, since: now });
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

/** Moves a rule's state; false when another replica was first, and has told of it. */
async function move(
  tx: EntityManager,
  from: Pick<AlertStateEntity, 'rule' | 'state'>,
  to: Pick<AlertStateEntity, 'state' | 'value' | 'since'>,
): Promise<boolean> {
  const unknown = { ...to, rule: from.rule, state: 'ok' as const };
  await tx.createQueryBuilder().insert().into(AlertStateEntity).values(unknown).orIgnore().execute();
  const news = { ...to, notifiedAt: to.since, acknowledgedBy: null, acknowledgedAt: null };
  const { affected } = await tx.update(
    AlertStateEntity,
    from,
    from.state === to.state ? { value: to.value } : news,
  );
  return from.state !== to.state && affected === 1;
}

function viewOf({ notifiedAt: _, ...state }: AlertStateEntity): AlertView {
  const rule = parseAlertRule(state.rule);
  return { ...state, words: rule ? inWords(rule, state.value) : state.rule };
}
