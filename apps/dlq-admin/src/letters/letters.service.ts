import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { DeadLetterEntity, EntityManager } from '#database';
import type { BulkKind, LetterDetail, LetterSummary } from '#dlq-client';
import { CLOCK, traceId, type Clock } from '#service';
import { actorOf, mayAct, type Caller } from '../access/caller.js';
import { Mutations, type Outcome } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { conflict, notFound, ProblemError } from '../http/problems.js';
import type { AskedBy } from '../http/query.js';
import { storedJson } from '../ingest/letter-draft.js';
import { LetterChanges, REFUSALS, type ChangedBy } from './letter-changes.repository.js';
import { LettersRepository } from './letters.repository.js';

/** What can be done with one letter, with who may. */
@Injectable()
export class LettersService {
  constructor(
    private readonly repository: LettersRepository,
    private readonly changes: LetterChanges,
    private readonly mutations: Mutations,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async show(caller: Caller, id: number): Promise<LetterDetail> {
    return this.detail(caller, await this.visible(caller, id));
  }

  change(kind: BulkKind, id: number, asked: AskedBy): Promise<LetterSummary> {
    const { caller, note = null } = asked;
    return this.perform(id, asked, kind, { note }, async (tx, by) => {
      const [letter] = await this.changes.lock(tx, [id], caller.queues);
      if (!letter) throw notFound('dead letter');
      const refusal = (await this.changes.apply(tx, kind, [letter], by)).get(id);
      if (refusal) throw conflict(codeOf(refusal), REFUSALS[refusal]);
      const row = await this.visible(caller, id);
      const after = { status: row.status, version: row.version, replay: row.replayCount };
      return { answer: summaryOf(row), before: { status: letter.status }, after };
    });
  }

  editPayload(id: number, asked: AskedBy, version: number, payload: object): Promise<LetterDetail> {
    const { caller } = asked;
    return this.perform(id, asked, 'edit', { version, payload }, async (tx, by) => {
      await this.changes.lock(tx, [id], caller.queues);
      const before = await this.visible(caller, id);
      requireEditable(before, version);
      this.requireContract(before.queue, payload);
      await this.changes.replacePayload(tx, before, payload, by);
      return {
        answer: await this.show(caller, id),
        before: { payloadSha256: sha256(storedJson(before.payload)), version },
        after: { payloadSha256: sha256(storedJson(payload)), version: version + 1 },
      };
    });
  }

  private perform<T>(
    id: number,
    asked: AskedBy,
    what: string,
    request: object,
    run: (tx: EntityManager, by: ChangedBy) => Promise<Outcome<T>>,
  ): Promise<T> {
    const mutation = { ...asked, action: `letter.${what}`, target: `letter:${id}`, request };
    const by = { actor: actorOf(asked.caller), now: this.clock.now(), note: asked.note };
    return this.mutations.perform(mutation, (tx) => run(tx, by));
  }

  private async visible({ queues }: Caller, id: number): Promise<DeadLetterEntity> {
    const row = await this.repository.find(id, queues);
    if (!row) throw notFound('dead letter');
    return row;
  }

  private requireContract(queue: string, payload: unknown): void {
    const faults = this.changes.faultsOf(queue, payload);
    if (faults.length === 0) return;
    const errors = faults.slice(0, 50).map(({ path, found, rule }) => {
      return { path: path || 'payload', message: `found ${found}, allowed is ${rule}` };
    });
    throw new ProblemError(422, 'CONTRACT', `the payload breaks the contract of ${queue}`, { errors });
  }

  private traceUrl(trace: string | null): string | null {
    const id = trace && traceId(trace);
    return id ? (this.config.TRACE_URL?.replaceAll('{traceId}', id) ?? null) : null;
  }

  private async detail(caller: Caller, row: DeadLetterEntity): Promise<LetterDetail> {
    const visible = mayAct(caller, 'operator');
    const history = await this.repository.history(row.id);
    return {
      ...summaryOf(row),
      errorMessage: row.errorMessage,
      payload: visible ? this.changes.masked(row.payload) : null,
      stack: visible ? row.stack : null,
      hidden: !visible,
      redactedPaths: row.redactedPaths,
      faults: visible ? this.changes.faultsOf(row.queue, row.payload).slice(0, 20) : [],
      options: visible ? row.options : {},
      attempts: row.attempts,
      history: visible ? history : history.map((entry) => ({ ...entry, details: {} })),
      replayJobId: row.replayJobId,
      trace: row.trace,
      traceUrl: this.traceUrl(row.trace),
    };
  }
}

function requireEditable(row: DeadLetterEntity, version: number): void {
  const detail = `the letter was changed meanwhile: it is at version ${row.version}; read it again`;
  if (row.version !== version) throw new ProblemError(412, 'VERSION', detail);
  if (row.status !== 'open') throw conflict('NOT_OPEN', 'only an open letter can be edited');
}

function summaryOf(row: DeadLetterEntity): LetterSummary {
  const { payload: _p, stack: _s, options: _o, redactedPaths: _r, attempts: _a, ...rest } = row;
  const { replayJobId: _j, trace: _t, fingerprint: group, ...summary } = rest;
  const status = row.resolvedAt === null ? row.status : 'resolved';
  return { ...summary, status, group, errorMessage: row.errorMessage.slice(0, 500) };
}

const codeOf = (refusal: string): string => refusal.toUpperCase().replaceAll('-', '_');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
