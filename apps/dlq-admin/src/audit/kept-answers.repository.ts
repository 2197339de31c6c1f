import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, MoreThan, type Repository } from 'typeorm';
import { IdempotencyKeyEntity, type EntityManager } from '#database';

const KEPT_MS = 24 * 3_600_000;

/** Answers that were given under an Idempotency-Key, for a day. */
@Injectable()
export class KeptAnswers {
  constructor(
    @InjectRepository(IdempotencyKeyEntity) private readonly answers: Repository<IdempotencyKeyEntity>,
  ) {}

  find(tx: EntityManager, owner: string, key: string, now: number): Promise<IdempotencyKeyEntity | null> {
    return tx.withRepository(this.answers).findOneBy({ owner, key, createdAt: MoreThan(now - KEPT_MS) });
  }

  async keep(tx: EntityManager, answer: Omit<IdempotencyKeyEntity, 'status'>): Promise<void> {
    const answers = tx.withRepository(this.answers);
    await answers.delete({ createdAt: LessThan(answer.createdAt - KEPT_MS) });
    await answers.insert({ ...answer, status: 200 });
  }
}
