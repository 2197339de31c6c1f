import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { AuditLog, Database, execute, IdempotencyKeyEntity, isUniqueViolation } from '#database';
import type { AuditEntry, ChainAnchor, EntityManager } from '#database';
import { CLOCK, faultPoint, LOGGER, type Clock, type Logger } from '#service';
import { actorOf } from '../access/caller.js';
import { conflict, ProblemError } from '../http/problems.js';
import type { AskedBy } from '../http/query.js';

const KEPT_MS = 24 * 3_600_000;

export interface Outcome<T> {
  answer: T;
  /** What it was and what it is, for the audit log. */
  before?: unknown;
  after?: unknown;
}

interface Mutation extends AskedBy {
  /** Such as `letter.requeue`. */
  action: string;
  target: string;
  /** The target is made by this change, so a repeated request names another. */
  creates?: boolean;
  /** What was asked besides, so that one key is not used for two requests. */
  request?: unknown;
  /** What a repeated request is answered instead of a secret that is told once. */
  instead?: object;
}

type Run<T> = (tx: EntityManager) => Promise<Outcome<T>>;

/**
 * Every change that a person asks for passes here. Guarantee: the change, its audit row and the answer kept for a repeated
 * request are one transaction; a change that was refused or failed leaves nothing but its audit row.
 */
@Injectable()
export class Mutations {
  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async perform<T>(mutation: Mutation, run: Run<T>): Promise<T> {
    try {
      return await this.once(mutation, run);
    } catch (error) {
      await this.recordFailure(mutation, error);
      throw error;
    }
  }

  /** Of two equal requests at once, the one that commits second finds the answer of the first. */
  private async once<T>(mutation: Mutation, run: Run<T>): Promise<T> {
    const attempt = async (): Promise<T> => {
      const { answer, end } = await this.database.inTransaction((tx) => this.apply(tx, mutation, run));
      const { action, target, caller } = mutation;
      const facts = { action, target, key_id: caller.keyId, audit_row: end?.id, audit_head: end?.hash };
      // Outside of the table, where one who cuts it off does not reach.
      if (end) this.logger.info(facts, 'audited');
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
    mutation: Mutation,
    run: Run<T>,
  ): Promise<{ answer: T; end?: ChainAnchor }> {
    const earlier = await this.earlierAnswer(tx, mutation);
    if (earlier) return { answer: JSON.parse(earlier.response ?? 'null') as T };
    const { answer, before, after } = await run(tx);
    const end = await this.audit.append(tx, { ...this.entry(mutation), before, after, result: 'ok' });
    await this.keepAnswer(tx, mutation, answer);
    await faultPoint('dlq-admin.mutation-before-commit');
    return { answer, end };
  }

  private async earlierAnswer(tx: EntityManager, mutation: Mutation): Promise<IdempotencyKeyEntity | null> {
    const { caller, idempotencyKey: key } = mutation;
    if (key === undefined) return null;
    const row = await tx.findOneBy(IdempotencyKeyEntity, { owner: caller.keyId, key });
    if (!row || row.createdAt <= this.clock.now() - KEPT_MS) return null;
    if (row.requestHash === requestHash(mutation)) return row;
    throw conflict('IDEMPOTENCY_KEY_REUSED', 'this Idempotency-Key was used for another request');
  }

  /** For a day. */
  private async keepAnswer(tx: EntityManager, mutation: Mutation, answer: unknown): Promise<void> {
    const { caller, idempotencyKey: key, instead } = mutation;
    if (key === undefined) return;
    const createdAt = this.clock.now();
    await execute(tx, 'DELETE FROM idempotency_keys WHERE created_at <= $1', [createdAt - KEPT_MS]);
    const response = JSON.stringify(instead ? { ...(answer as object), ...instead } : answer) ?? 'null';
    const requested = { owner: caller.keyId, key, requestHash: requestHash(mutation), createdAt };
    await tx.insert(IdempotencyKeyEntity, { ...requested, response, status: 200 });
  }

  private async recordFailure(mutation: Mutation, error: unknown): Promise<void> {
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
      const { action, target } = mutation;
      this.logger.error({ err: cause, action, target }, 'refusal not audited');
    }
  }

  private entry({ caller, action, target, note }: Mutation): Omit<AuditEntry, 'result'> {
    const { role, keyId, ip } = caller;
    const at = this.clock.now();
    return { at, actor: actorOf(caller), role, keyId, ip, action, target, ...(note && { reason: note }) };
  }
}

function requestHash({ action, target, creates, request = {} }: Mutation): string {
  const asked = JSON.stringify([action, creates ? null : target, request]);
  return createHash('sha256').update(asked).digest('hex');
}
