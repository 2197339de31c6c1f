import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Not, type Repository } from 'typeorm';
import { AlertStateEntity, type EntityManager } from '#database';
import type { AlertView } from '#dlq-client';
import { inWords, parseAlertRule, type AlertState } from './rules.js';

const NOBODY = { acknowledgedBy: null, acknowledgedAt: null };

/** Which rules fire, for all replicas. */
@Injectable()
export class AlertStates {
  constructor(@InjectRepository(AlertStateEntity) private readonly states: Repository<AlertStateEntity>) {}

  async list(): Promise<AlertView[]> {
    return (await this.states.find({ order: { rule: 'ASC' } })).map(viewOf);
  }

  /** Says who looks after an alert; undefined when it does not fire. */
  async acknowledge(tx: EntityManager, rule: string, by: string, at: number): Promise<AlertView | undefined> {
    const states = tx.withRepository(this.states);
    await states.update({ rule, state: 'firing' }, { acknowledgedBy: by, acknowledgedAt: at });
    const row = await states.findOneBy({ rule, state: 'firing' });
    return row ? viewOf(row) : undefined;
  }

  async of(tx: EntityManager, rule: string): Promise<AlertState> {
    return (await tx.withRepository(this.states).findOneBy({ rule }))?.state ?? 'ok';
  }

  /** Moves a rule's state; false when another replica was first, and has told of it. */
  async move(
    tx: EntityManager,
    rule: string,
    { from, to, value, now }: { from: AlertState; to: AlertState; value: number; now: number },
  ): Promise<boolean> {
    const states = tx.withRepository(this.states);
    const unknown = { rule, state: 'ok' as const, value, since: now };
    await states.createQueryBuilder().insert().values(unknown).orIgnore().execute();
    const moved = from === to ? { value } : { state: to, value, since: now, notifiedAt: now, ...NOBODY };
    const { affected } = await states.update({ rule, state: from }, moved);
    return from !== to && affected === 1;
  }

  async keepOnly(tx: EntityManager, rules: readonly string[]): Promise<void> {
    await tx.withRepository(this.states).delete({ rule: Not(In(rules)) });
  }
}

function viewOf({ notifiedAt: _, ...state }: AlertStateEntity): AlertView {
  const rule = parseAlertRule(state.rule);
  return { ...state, words: rule ? inWords(rule, state.value) : state.rule };
}
