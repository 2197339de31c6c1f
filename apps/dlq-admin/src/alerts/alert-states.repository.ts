import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Not, type Repository } from 'typeorm';
import { AlertStateEntity, type EntityManager } from '#database';
import type { AlertState } from './rules.js';

/** Which rules fire, for all replicas. */
@Injectable()
export class AlertStates {
  constructor(@InjectRepository(AlertStateEntity) private readonly states: Repository<AlertStateEntity>) {}

  list(): Promise<Omit<AlertStateEntity, 'notifiedAt'>[]> {
    const select = { rule: true, state: true, value: true, since: true };
    return this.states.find({ select, order: { rule: 'ASC' } });
  }

  async of(tx: EntityManager, rule: string): Promise<AlertState> {
    return (await tx.withRepository(this.states).findOneBy({ rule }))?.state ?? 'ok';
  }

  /** Moves a rule's state; false when another replica was first, and has told of it. */
  async move(
    tx: EntityManager,
    rule: string,
    from: AlertState,
    to: AlertState,
    value: number,
    now: number,
  ): Promise<boolean> {
    const states = tx.withRepository(this.states);
    const unknown = { rule, state: 'ok' as const, value, since: now };
    await states.createQueryBuilder().insert().values(unknown).orIgnore().execute();
    const moved = from === to ? { value } : { state: to, value, since: now, notifiedAt: now };
    const { affected } = await states.update({ rule, state: from }, moved);
    return from !== to && affected === 1;
  }

  async keepOnly(tx: EntityManager, rules: readonly string[]): Promise<void> {
    await tx.withRepository(this.states).delete({ rule: Not(In(rules)) });
  }
}
