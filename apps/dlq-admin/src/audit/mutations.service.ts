import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  AuditLog,
  Database,
  isUniqueViolation,
  type AuditEntry,
  type ChainAnchor,
  type EntityManager,
} from '#database';
import { CLOCK, faultPoint, LOGGER, type Clock, type Logger } from '#service';
import { actorOf, type Caller } from '../access/caller.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { ConflictProblem, ProblemError } from '../http/problems.js';
import { KeptAnswers } from './kept-answers.repository.js';

export interface Outcome<T> {
  answer: T;
  /** What it was and what it is, for the audit log. */
  before?: unknown;
  after?: unknown;
}

interface Mutation<T> {
  caller: Caller;
  /** Such as `letter.requeue`. */
  action: string;
  target: string;
  /** The target is made by this change, so a repeated request names another. */
  creates?: boolean;
  note?: string;
  /** From the Idempotency-Key header. */
  idempotencyKey?: string;
  /** What was asked besides, so that one key is not used for two requests. */
  request?: unknown;
  run: (tx: EntityManager) => Promise<Outcome<T>>;
  /** What is kept of the answer for a repeated request; all of it unless given. */
  kept?: (answer: T) => T;
}

/**
 * Every change that a person asks for passes here. Guarantee: the change, its audit row and the answer kept for a repeated
 * request are one transaction; a change that was refused or failed leaves nothing but its audit row.
 */
@Injectable()
export class Mutations {
  private readonly audit: AuditLog;

  constructor(
    private readonly database: Database,
    private readonly answers: KeptAnswers,
    config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.audit = new AuditLog(database, config.AUDIT_KEY);
  }

  async perform<T>(mutation: Mutation<T>): Promise<T> {
    try {
      return await this.once(mutation);
    } catch (error) {
      await this.recordFailure(mutation, error);
      throw error;
    }
  }

  /** Of two equal requests at once, the one that commits second finds the answer of the first. */
  private async once<T>(mutation: Mutation<T>): Promise<T> {
    const attempt = async (): Promise<T> => {
      const { answer, end } = await this.database.inTransaction((tx) => this.apply(tx, mutation));
      const { action, target, caller } = mutation;
      // Outside of the table, where one who cuts it off does not reach.
      if (end)
        this.logger.info(
          { action, target, key_id: caller.keyId, audit_row: end.id, audit_head: end.hash },
          'audited',
        );
      return answer;
    };
    try {
      return await attempt();
    } catch (error) {
      if (mutation.idempotencyKey === undefined || !isUniqueViolation(error)) throw error;
      return attempt();
    }
  }

  private async apply<T>(
    tx: EntityManager,
    mutation: Mutation<T>,
  ): Promise<{ answer: T; end?: ChainAnchor }> {
    const earlier = await this.earlierAnswer<T>(tx, mutation);
    if (earlier) return earlier;
    const { answer, before, after } = await mutation.run(tx);
    const end = await this.audit.append(tx, { ...this.entry(mutation), before, after, result: 'ok' });
    await this.keepAnswer(tx, mutation, answer);
    await faultPoint('dlq-admin.mutation-before-commit');
    return { answer, end };
  }

  private async earlierAnswer<T>(tx: EntityManager, mutation: Mutation<T>): Promise<{ answer: T } | null> {
    const { caller, idempotencyKey: key } = mutation;
    if (key === undefined) return null;
    const row = await this.answers.find(tx, caller.keyId, key, this.clock.now());
    if (!row) return null;
    if (row.requestHash !== requestHash(mutation))
      throw new ConflictProblem(
        'IDEMPOTENCY_KEY_REUSED',
        'this Idempotency-Key was used for another request',
      );
    return { answer: JSON.parse(row.response ?? 'null') as T };
  }

  private async keepAnswer<T>(tx: EntityManager, mutation: Mutation<T>, answer: T): Promise<void> {
    const { idempotencyKey: key, kept = (all) => all } = mutation;
    if (key === undefined) return;
    const owner = mutation.caller.keyId;
    const response = JSON.stringify(kept(answer)) ?? 'null';
    const createdAt = this.clock.now();
    await this.answers.keep(tx, { owner, key, requestHash: requestHash(mutation), response, createdAt });
  }

  private async recordFailure<T>(mutation: Mutation<T>, error: unknown): Promise<void> {
    const refused = error instanceof ProblemError;
    const reason = refused ? error.code : error instanceof Error ? error.name : 'unknown';
    try {
      await this.database.inTransaction((tx) =>
        this.audit.append(tx, {
          ...this.entry(mutation),
          result: refused ? 'refused' : 'failed',
          reason: [reason, mutation.note].filter(Boolean).join(': '),
        }),
      );
    } catch (cause) {
      this.logger.error(
        { err: cause, action: mutation.action, target: mutation.target },
        'refusal not audited',
      );
    }
  }

  private entry<T>({ caller, action, target, note }: Mutation<T>): Omit<AuditEntry, 'result'> {
    const { role, keyId, ip } = caller;
    const at = this.clock.now();
    return { at, actor: actorOf(caller), role, keyId, ip, action, target, ...(note && { reason: note }) };
  }
}

function requestHash<T>({ action, target, creates, request = {} }: Mutation<T>): string {
  const asked = JSON.stringify([action, creates ? null : target, request]);
  return createHash('sha256').update(asked).digest('hex');
}
