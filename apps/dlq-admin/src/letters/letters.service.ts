import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { LetterDetail, LetterFilter, LetterSummary } from '#dlq-client';
import type { DeadLetterEntity, EntityManager } from '#database';
import { CLOCK, traceId, type Clock } from '#service';
import { actorOf, mayAct, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { ConflictProblem, ForbiddenProblem, NotFoundProblem, ProblemError } from '../http/problems.js';
import { storedJson } from '../ingest/letter-draft.js';
import { maskSecrets, stillMasked } from '../ingest/mask.js';
import {
  discardLetters,
  lockLetters,
  replacePayload,
  requeueLetters,
  restoreLetters,
  type ChangeableLetter,
  type ChangeContext,
  type ChangeReport,
} from './changes.repository.js';
import { LettersRepository } from './letters.repository.js';
import { originContracts, REFUSALS, type OriginContracts } from './verdict.js';

export type LetterChange = 'requeue' | 'discard' | 'restore';

export interface ChangeRequest {
  caller: Caller;
  id: number;
  note?: string;
  idempotencyKey?: string;
}

/** What can be done with one letter, with who may. */
@Injectable()
export class Letters {
  readonly contracts: OriginContracts;

  constructor(
    private readonly repository: LettersRepository,
    private readonly mutations: Mutations,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.contracts = originContracts({ files: config.PATH_DISCOVERY_QUEUE, batches: config.ANALYSIS_QUEUE });
  }

  async show(caller: Caller, id: number): Promise<LetterDetail> {
    const row = await this.repository.find(id, caller.queues);
    if (!row) throw new NotFoundProblem('dead letter');
    return this.detail(caller, row);
  }

  change(what: LetterChange, { caller, id, note, idempotencyKey }: ChangeRequest): Promise<LetterSummary> {
    return this.mutations.perform({
      caller,
      action: `letter.${what}`,
      target: `letter:${id}`,
      request: { note: note ?? null },
      note,
      idempotencyKey,
      run: async (tx) => {
        const [letter] = await lockLetters(tx, [id], caller.queues);
        if (!letter) throw new NotFoundProblem('dead letter');
        const context = { actor: actorOf(caller), now: this.clock.now(), note };
        const { skipped } = await this.apply(tx, what, [letter], context);
        const refusal = skipped[0]?.reason;
        if (refusal) throw new ConflictProblem(codeOf(refusal), REFUSALS[refusal]);
        const row = await this.reread(tx, id);
        return {
          answer: summaryOf(row),
          before: { status: letter.status },
          after: { status: row.status, version: row.version, replay: row.replayCount },
        };
      },
    });
  }

  /** Applies one kind of change to letters that are locked; also what bulk actions do. */
  apply(
    tx: EntityManager,
    what: LetterChange,
    letters: readonly ChangeableLetter[],
    context: ChangeContext,
  ): Promise<ChangeReport> {
    if (what === 'discard') return discardLetters(tx, letters, context);
    if (what === 'restore') return restoreLetters(tx, letters, context);
    return requeueLetters(
      tx,
      letters,
      {
        maxReplays: this.config.MAX_REPLAYS,
        contracts: this.contracts,
        redactPaths: this.config.REDACT_PATHS,
      },
      context,
    );
  }

  editPayload(
    request: ChangeRequest & { version: number; payload: Record<string, unknown> },
  ): Promise<LetterDetail> {
    const { caller, id, note, version, payload, idempotencyKey } = request;
    return this.mutations.perform({
      caller,
      action: 'letter.edit',
      target: `letter:${id}`,
      request: { version, payload },
      note,
      idempotencyKey,
      run: async (tx) => {
        const before = await this.editable(tx, request);
        this.requireContract(before.queue, payload);
        const after = storedJson(payload);
        const context = { actor: actorOf(caller), now: this.clock.now(), note };
        const edit = {
          ...before,
          before: this.masked(before.payload),
          after,
          shown: storedJson(this.masked(payload)),
          stillMasked: stillMasked(payload),
        };
        await replacePayload(tx, edit, context);
        return {
          answer: await this.detail(caller, await this.reread(tx, id), tx),
          before: { payloadSha256: sha256(storedJson(before.payload)), version },
          after: { payloadSha256: sha256(after), version: version + 1 },
        };
      },
    });
  }

  /** Text in payloads is for those who may see payloads; an answer of "yes, it is in there" would tell it too. */
  requireFilter(caller: Caller, filter: LetterFilter): LetterFilter {
    if ((filter.text !== undefined || filter.payload !== undefined) && !mayAct(caller, 'operator'))
      throw new ForbiddenProblem('ROLE', 'searching in payloads needs the role operator');
    return filter;
  }

  private async editable(
    tx: EntityManager,
    { caller, id, version }: ChangeRequest & { version: number },
  ): Promise<DeadLetterEntity> {
    await lockLetters(tx, [id], caller.queues);
    const row = await this.repository.find(id, caller.queues, tx);
    if (!row) throw new NotFoundProblem('dead letter');
    if (row.version !== version)
      throw new ProblemError(
        412,
        'VERSION',
        `the letter was changed meanwhile: it is at version ${row.version}; read it again`,
      );
    if (row.status !== 'open') throw new ConflictProblem('NOT_OPEN', 'only an open letter can be edited');
    return row;
  }

  private requireContract(queue: string, payload: unknown): void {
    const faults = this.contracts.get(queue)?.faultsOf(payload) ?? [];
    if (faults.length === 0) return;
    throw new ProblemError(422, 'CONTRACT', `the payload breaks the contract of ${queue}`, {
      errors: faults.slice(0, 50).map(({ path, found, rule }) => ({
        path: path || 'payload',
        message: `found ${found}, allowed is ${rule}`,
      })),
    });
  }

  private traceUrl(trace: string | null): string | null {
    const id = trace && traceId(trace);
    return id ? (this.config.TRACE_URL?.replaceAll('{traceId}', id) ?? null) : null;
  }

  /** An edited payload may hold the secrets that its job needs; people are shown it without. */
  private masked(payload: unknown): unknown {
    return maskSecrets(structuredClone(payload), this.config.REDACT_PATHS).value;
  }

  private async reread(tx: EntityManager, id: number): Promise<DeadLetterEntity> {
    const row = await this.repository.find(id, null, tx);
    if (!row) throw new NotFoundProblem('dead letter');
    return row;
  }

  private async detail(caller: Caller, row: DeadLetterEntity, tx?: EntityManager): Promise<LetterDetail> {
    const visible = mayAct(caller, 'operator');
    const history = await this.repository.history(row.id, tx);
    return {
      ...summaryOf(row),
      errorMessage: row.errorMessage,
      payload: visible ? this.masked(row.payload) : null,
      stack: visible ? row.stack : null,
      hidden: !visible,
      redactedPaths: row.redactedPaths,
      faults: visible ? (this.contracts.get(row.queue)?.faultsOf(row.payload).slice(0, 20) ?? []) : [],
      options: visible ? row.options : {},
      attempts: row.attempts,
      history: visible ? history : history.map((entry) => ({ ...entry, details: {} })),
      replayJobId: row.replayJobId,
      trace: row.trace,
      traceUrl: this.traceUrl(row.trace),
    };
  }
}

export function summaryOf(row: DeadLetterEntity): LetterSummary {
  const {
    payload: _p,
    stack: _s,
    options: _o,
    redactedPaths: _r,
    attempts: _a,
    replayJobId: _j,
    trace: _t,
    fingerprint: group,
    ...summary
  } = row;
  const status = row.resolvedAt === null ? row.status : 'resolved';
  return { ...summary, status, group, errorMessage: row.errorMessage.slice(0, 500) };
}

const codeOf = (refusal: string): string => refusal.toUpperCase().replaceAll('-', '_');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
