import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { BulkActionEntity, Database, type EntityManager } from '#database';
import type { BulkAction, BulkKind, BulkPreview, CanarySettings, LetterFilter, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { actorOf, mayAct, type Caller } from '../access/caller.js';
import { KeysRepository } from '../access/keys.repository.js';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { pageOf, type Cursor } from '../http/field.js';
import { conflict, forbidden, invalidField, notFound, ProblemError } from '../http/problems.js';
import { PATIENCE, type AskedBy } from '../http/query.js';
import { criteriaOf, type Criteria } from '../letters/criteria.js';
import type { BulkActionDto } from './bulk-action.dto.js';
import { BulkActionsRepository, freeze, freezeIds, previewOf } from './bulk-actions.repository.js';
import type { BulkRow } from './bulk-actions.repository.js';
import { BulkRunner } from './bulk-runner.service.js';
import { DEFAULT_CANARY, startCanary } from './canary.js';
import { confirmToken, receiptOf, type Shown } from './receipt.js';

const APPROVAL_MS = 24 * 3_600_000;

/** What to do with each letter of a selection, how fast, and whether in small steps first. */
interface BulkPlan {
  kind: BulkKind;
  ratePerSecond?: number | null;
  canary?: Partial<CanarySettings> | null;
}

/** Bulk actions as people ask for them: shown first, confirmed, frozen, then left to the runner. */
@Injectable()
export class BulkActionsService {
  private confirmKey: string | undefined;

  constructor(
    private readonly database: Database,
    private readonly repository: BulkActionsRepository,
    private readonly runner: BulkRunner,
    private readonly mutations: Mutations,
    private readonly config: DlqAdminConfig,
    private readonly keys: KeysRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** What the action would do. Changes nothing. */
  async preview(caller: Caller, body: BulkActionDto): Promise<BulkPreview> {
    const criteria = criteriaFor(caller, body);
    const shown = await this.shown(caller, body.kind, criteria);
    const look = previewOf(body.kind, criteria, this.config.MAX_REPLAYS);
    const { maxId, ...preview } = await this.database.read(look, PATIENCE);
    return { dryRun: true, ...preview, confirm: confirmToken(shown, { maxId, count: preview.total }) };
  }

  async start(asked: AskedBy, body: BulkActionDto): Promise<BulkAction> {
    const criteria = criteriaFor(asked.caller, body);
    // Before the transaction: the key that it may make must stay when the request is refused.
    const shown = await this.shown(asked.caller, body.kind, criteria);
    const selection = body.ids ? { ids: body.ids.length } : { filter: criteria.filter };
    const told = { selection, request: { ...body, confirm: undefined } };
    return this.begin(asked, body, told, (tx, id) => this.freeze(tx, id, body, criteria, shown));
  }

  async list(caller: Caller, after: Cursor | null, limit: number): Promise<Page<BulkAction>> {
    const rows = await this.repository.list(after, limit + 1, caller.queues ? actorOf(caller) : null);
    const actions = rows.map((row) => viewOf(row, caller));
    return pageOf(actions, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  }

  async show(caller: Caller, id: string): Promise<BulkAction> {
    const row = await this.visible(caller, id);
    return { ...viewOf(row, caller), skippedReasons: await this.repository.skippedReasons(id) };
  }

  /** Lets an action run that waits for a second person: another key, with a right to all of its letters. */
  async approve(asked: AskedBy, id: string): Promise<BulkAction> {
    const action = await this.visible(asked.caller, id);
    return this.change({ ...asked, id, what: 'approve', request: {} }, async (tx) => {
      await this.requireSecond(asked.caller, action);
      const approvedBy = actorOf(asked.caller);
      if (!(await this.repository.approve(tx, id, approvedBy, this.clock.now())))
        throw conflict('NOT_PENDING', 'the bulk action waits for no approval, or no longer');
      return { approvedBy, total: action.total };
    });
  }

  /** Another action of the same kind and pace for what a stopped or aborted one has left. What was confirmed stays confirmed. */
  async continue(asked: AskedBy, restOf: string): Promise<BulkAction> {
    const before = await this.visible(asked.caller, restOf);
    const told = { selection: { restOf }, request: { restOf } };
    return this.begin(asked, before, told, async (tx, id) => {
      if (before.status !== 'stopped' && before.status !== 'aborted')
        throw conflict('NOT_STOPPED', 'only a stopped or aborted bulk action can be continued');
      const total = await this.repository.takeRest(tx, id, restOf);
      if (total > 0) return total;
      throw conflict('NOTHING_LEFT', 'the bulk action has left nothing to go on with');
    });
  }

  async abort(asked: AskedBy, id: string): Promise<BulkAction> {
    await this.visible(asked.caller, id);
    return this.change({ ...asked, id, what: 'abort', request: {} }, async (tx) => {
      const reason = `aborted by ${actorOf(asked.caller)}`;
      const end = { status: 'aborted' as const, reason, finishedAt: this.clock.now() };
      if (!(await this.repository.finish(tx, id, end)))
        throw conflict('ENDED', 'the bulk action has ended already');
      return { status: 'aborted' };
    });
  }

  /** Carries out what was asked for, audited, and shows the action as it is then. `run` returns what the audit log keeps of it. */
  private async change(
    { id, what, ...asked }: AskedBy & { id: string; what: string; creates?: boolean; request: object },
    run: (tx: EntityManager) => Promise<object>,
  ): Promise<BulkAction> {
    const mutation = { ...asked, action: `bulk.${what}`, target: `bulk:${id}` };
    const changed = await this.mutations.perform(mutation, async (tx) => {
      return { after: await run(tx), answer: { id } };
    });
    this.runner.wake();
    return this.show(asked.caller, changed.id);
  }

  /** Records the action and its selection, which from here on neither grows nor changes, and leaves it to the runner. */
  private begin(
    asked: AskedBy,
    plan: BulkPlan,
    { selection, request }: { selection: object; request: object },
    select: (tx: EntityManager, id: string) => Promise<number>,
  ): Promise<BulkAction> {
    const action = this.draft(asked, plan, selection);
    const { id, kind } = action;
    return this.change({ ...asked, id, what: kind, creates: true, request }, async (tx) => {
      await tx.insert(BulkActionEntity, action);
      const total = await select(tx, id);
      await tx.update(BulkActionEntity, id, { total, approveBefore: this.approveBefore(kind, total) });
      return { ...request, ids: undefined, selection: action.selection, total };
    });
  }

  private draft(
    { caller, note }: AskedBy,
    { kind, ratePerSecond = null, canary = null }: BulkPlan,
    selection: object,
  ) {
    if (canary && kind !== 'requeue') throw invalidField('canary', 'only a requeue can fail again');
    const { steps = DEFAULT_CANARY.steps, maxFailures = DEFAULT_CANARY.maxFailures } = canary ?? {};
    return {
      id: randomUUID(),
      kind,
      status: 'frozen' as const,
      selection: { ...selection, scope: caller.queues ? [...caller.queues] : null, note } as object,
      ratePerSecond,
      canary: canary && (startCanary({ steps, maxFailures }) as object),
      createdBy: actorOf(caller),
      createdKey: caller.keyId,
      createdAt: this.clock.now(),
    };
  }

  private async freeze(
    tx: EntityManager,
    id: string,
    { ids, confirm }: BulkActionDto,
    criteria: Criteria,
    shown: Shown,
  ): Promise<number> {
    const receipt = ids ? null : receiptOf(shown, confirm);
    const total = ids
      ? await freezeIds(tx, id, [...new Set(ids)])
      : await freeze(tx, id, { ...criteria, maxId: receipt?.maxId });
    const grown = `the selection has grown from ${receipt?.count} to ${total}; look at a new dry run`;
    if (receipt && total > receipt.count) throw conflict('SELECTION_CHANGED', grown);
    const many = `${total} letters are more than MAX_BULK_LETTERS; narrow the filter`;
    if (total > this.config.MAX_BULK_LETTERS) throw new ProblemError(422, 'TOO_MANY', many);
    return total;
  }

  private approveBefore(kind: BulkKind, total: number): number | null {
    const { DISCARD_APPROVAL_ABOVE: most } = this.config;
    if (kind !== 'discard' || most === undefined || total <= most) return null;
    return this.clock.now() + APPROVAL_MS;
  }

  /**
   * The second person of an action is neither the key that asked for it, nor one that replaces it or was replaced by it, nor one
   * that was made since, which whoever asked may have made for this.
   */
  private async requireSecond({ keyId }: Caller, { createdKey, createdAt }: BulkRow): Promise<void> {
    const [own, asking] = [await this.keys.find(keyId), await this.keys.find(createdKey ?? '')];
    if (keyId === createdKey || own?.replaces === createdKey || asking?.replaces === keyId)
      throw forbidden('SAME_KEY', 'whoever asked for it cannot approve it; another key must');
    const later = 'a key that was made after the action was asked for cannot approve it';
    if (own && own.createdAt > createdAt) throw forbidden('NEW_KEY', later);
  }

  private async shown(caller: Caller, kind: BulkKind, { filter }: Criteria): Promise<Shown> {
    const key = (this.confirmKey ??= await this.repository.confirmKey(this.clock.now()));
    return { key, caller: caller.keyId, kind, filter };
  }

  private async visible(caller: Caller, id: string): Promise<BulkRow> {
    const row = await this.repository.find(id);
    if (row && (!caller.queues || row.createdBy === actorOf(caller) || covers(caller, row))) return row;
    throw notFound('bulk action');
  }
}

/** The letters that a request names, by their ids or by a filter. */
function criteriaFor(caller: Caller, { ids, filter }: BulkActionDto): Criteria {
  if ((ids === undefined) === (filter === undefined))
    throw invalidField('selection', 'give either `ids` or `filter`');
  const { payload, ...plain } = filter ?? {};
  for (const [path, value] of Object.entries(payload ?? {}))
    if (path.length > 500 || typeof value !== 'string' || value.length > 500)
      throw invalidField('filter.payload', 'paths and values are texts of at most 500 characters');
  return { ...criteriaOf(caller, { ...plain, ...(payload && { payload }) }), ids };
}

/** Whether a caller of some queues may see all that an action may touch. */
function covers({ queues }: Caller, { selection: { scope } }: BulkRow): boolean {
  return Array.isArray(scope) && scope.every((queue) => queues?.includes(queue));
}

/** What was searched for in payloads is in some payload: it is for those who may see payloads. */
function withoutValues(selection: Record<string, unknown>): Record<string, unknown> {
  const { filter } = selection as { filter?: LetterFilter };
  if (filter?.text === undefined && filter?.payload === undefined) return selection;
  const { text: _text, payload: _payload, ...plain } = filter;
  return { ...selection, filter: { ...plain, hidden: true } };
}

function viewOf(row: BulkRow, caller: Caller): BulkAction {
  const { createdKey: _key, dryRun: _dryRun, claimedBy: _holder, claimedUntil: _until, ...plain } = row;
  const { note: _note, ...selection } = row.selection;
  const isPending = row.status === 'frozen' && row.approveBefore !== null && row.approvedBy === null;
  const { steps = [], maxFailures = 0, step = 0, waitingSince = null } = row.canary ?? {};
  return {
    ...plain,
    status: isPending ? 'pending' : row.status,
    selection: mayAct(caller, 'operator') ? selection : withoutValues(selection),
    canary: row.canary && { steps, maxFailures, step, waiting: waitingSince !== null },
    waiting: row.total - row.done - row.skipped,
    skippedReasons: [],
  };
}
