import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Database, queryRows, type EntityManager } from '#database';
import type { BulkAction, BulkKind, BulkPreview, LetterFilter, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { actorOf, mayAct, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { ConflictProblem, InvalidRequestError, NotFoundProblem, ProblemError } from '../http/problems.js';
import { PATIENCE } from '../http/query.js';
import { encodeCursor, type Cursor } from '../letters/cursor.js';
import { verified } from '../letters/letters.repository.js';
import { Letters } from '../letters/letters.service.js';
import { Where } from '../letters/where.js';
import { SharedSecrets } from '../access/shared-secrets.repository.js';
import { Approvers } from './approvers.js';
import type { BulkActionDto } from './bulk-action.dto.js';
import { BulkActionsRepository, type BulkRow } from './bulk-actions.repository.js';
import { BulkRunner } from './bulk-runner.service.js';
import { DEFAULT_CANARY, startCanary } from './canary.js';
import { previewOf } from './preview.js';
import { confirmToken, readConfirmToken, type Shown } from './selection.js';
import { freeze, freezeIds, preview, type PreviewRow } from './selections.repository.js';

export interface StartRequest {
  caller: Caller;
  body: BulkActionDto;
  idempotencyKey?: string;
}

const MAX_VERIFIED = 10_000;
const APPROVAL_MS = 24 * 3_600_000;

const isPending = ({ status, approveBefore, approvedBy }: BulkRow): boolean =>
  status === 'frozen' && approveBefore !== null && approvedBy === null;

/** Bulk actions as people ask for them: shown first, confirmed, frozen, then left to the runner. */
@Injectable()
export class BulkActions {
  constructor(
    private readonly database: Database,
    private readonly repository: BulkActionsRepository,
    private readonly runner: BulkRunner,
    private readonly letters: Letters,
    private readonly mutations: Mutations,
    private readonly config: DlqAdminConfig,
    private readonly secrets: SharedSecrets,
    private readonly approvers: Approvers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** What the action would do. Changes nothing. */
  async preview(caller: Caller, body: BulkActionDto): Promise<BulkPreview> {
    const filter = this.filterOf(caller, body);
    const { rows, maxId } = await this.counted(caller, body.ids, filter);
    const groups = await this.groupsOf(rows);
    const preview = previewOf(body.kind, rows, groups, this.config.MAX_REPLAYS);
    return {
      dryRun: true,
      ...preview,
      confirm: confirmToken(await this.shown(caller, body.kind, filter), { maxId, count: preview.total }),
    };
  }

  async start({ caller, body, idempotencyKey }: StartRequest): Promise<BulkAction> {
    const filter = this.filterOf(caller, body);
    const action = this.draft(caller, body, filter);
    await this.mutations
      .perform({
        caller,
        action: `bulk.${body.kind}`,
        target: `bulk:${action.id}`,
        creates: true,
        request: { ...body, confirm: undefined },
        note: body.note,
        idempotencyKey,
        run: async (tx) => {
          const total = await this.freeze(tx, action, caller, body, filter);
          return {
            answer: { id: action.id },
            after: { selection: action.selection, total, ...body, ids: undefined },
          };
        },
      })
      .then(({ id }) => (action.id = id));
    this.runner.wake();
    return this.show(caller, action.id);
  }

  async abort(caller: Caller, id: string, idempotencyKey?: string): Promise<BulkAction> {
    await this.visible(caller, id);
    await this.mutations.perform({
      caller,
      action: 'bulk.abort',
      target: `bulk:${id}`,
      request: {},
      idempotencyKey,
      run: async (tx) => {
        const reason = `aborted by ${actorOf(caller)}`;
        const ended = await this.repository.finish(tx, id, {
          status: 'aborted',
          reason,
          now: this.clock.now(),
        });
        if (!ended) throw new ConflictProblem('ENDED', 'the bulk action has ended already');
        return { answer: { id }, after: { status: 'aborted' } };
      },
    });
    return this.show(caller, id);
  }

  /** Lets an action run that waits for a second person: another key, with a right to all of its letters. */
  async approve(caller: Caller, id: string, note?: string, idempotencyKey?: string): Promise<BulkAction> {
    const action = await this.visible(caller, id);
    await this.mutations.perform({
      caller,
      action: 'bulk.approve',
      target: `bulk:${id}`,
      request: {},
      note,
      idempotencyKey,
      run: async (tx) => {
        await this.approvers.requireSecond(caller, action);
        if (!(await this.repository.approve(tx, id, actorOf(caller), this.clock.now())))
          throw new ConflictProblem(
            'NOT_PENDING',
            'the bulk action does not wait for an approval, or no longer',
          );
        return { answer: { id }, after: { approvedBy: actorOf(caller), total: action.total } };
      },
    });
    this.runner.wake();
    return this.show(caller, id);
  }

  /** Another action of the same kind and pace for what a stopped or aborted one has left. What was confirmed stays confirmed. */
  async continue(caller: Caller, id: string, note?: string, idempotencyKey?: string): Promise<BulkAction> {
    const { kind, ratePerSecond, canary, status } = await this.visible(caller, id);
    const body = {
      kind,
      ratePerSecond: ratePerSecond ?? undefined,
      ...(canary && { canary: { steps: canary.steps, maxFailures: canary.maxFailures } }),
      note,
    };
    const action = this.draft(caller, { ...body, ids: [] }, {});
    action.selection = { ...action.selection, ids: undefined, restOf: id };
    const { id: begun } = await this.mutations.perform({
      caller,
      action: `bulk.${kind}`,
      target: `bulk:${action.id}`,
      creates: true,
      request: { restOf: id },
      note,
      idempotencyKey,
      run: async (tx) => {
        if (status !== 'stopped' && status !== 'aborted')
          throw new ConflictProblem('NOT_STOPPED', 'only a stopped or aborted bulk action can be continued');
        await this.repository.add(tx, action);
        const total = await this.repository.takeRest(tx, action.id, id);
        if (total === 0)
          throw new ConflictProblem('NOTHING_LEFT', 'the bulk action has left nothing to go on with');
        await this.repository.setTotal(tx, action.id, total, this.approveBefore(kind, total));
        return { answer: { id: action.id }, after: { restOf: id, total } };
      },
    });
    this.runner.wake();
    return this.show(caller, begun);
  }

  async show(caller: Caller, id: string): Promise<BulkAction> {
    const row = await this.visible(caller, id);
    return { ...viewOf(row, caller), skippedReasons: await this.repository.skippedReasons(id) };
  }

  async list(caller: Caller, after: Cursor | null, limit: number): Promise<Page<BulkAction>> {
    const rows = await this.repository.list(after, limit + 1, caller.queues ? actorOf(caller) : null);
    const items = rows.slice(0, limit).map((row) => viewOf(row, caller));
    const last = items.at(-1);
    return {
      items,
      next: rows.length > limit && last ? encodeCursor({ at: last.createdAt, id: last.id }) : null,
    };
  }

  private filterOf(caller: Caller, { ids, filter }: BulkActionDto): LetterFilter {
    if ((ids === undefined) === (filter === undefined))
      throw new InvalidRequestError('selection', 'give either `ids` or `filter`');
    const { payload, ...plain } = filter ?? {};
    for (const [path, value] of Object.entries(payload ?? {}))
      if (path.length > 500 || typeof value !== 'string' || value.length > 500)
        throw new InvalidRequestError(
          'filter.payload',
          'paths and values are texts of at most 500 characters',
        );
    return this.letters.requireFilter(caller, { ...plain, ...(payload && { payload }) });
  }

  private async counted(
    caller: Caller,
    ids: readonly number[] | undefined,
    filter: LetterFilter,
  ): Promise<{ rows: PreviewRow[]; maxId: number }> {
    if (ids) return { rows: await this.idRows(caller, ids), maxId: Math.max(...ids) };
    const criteria = { filter, scope: caller.queues };
    if (!filter.payload) return this.database.read((manager) => preview(manager, criteria), PATIENCE);
    const { payload } = filter;
    const letters = await this.database.read(
      (manager) => verified(manager, criteria, payload, null, MAX_VERIFIED),
      PATIENCE,
    );
    const rows = letters.map(({ group, queue, status, replayCount }) => ({
      group,
      queue,
      status,
      replays: replayCount,
      redacted: 0,
      count: 1,
    }));
    return { rows, maxId: Math.max(0, ...letters.map(({ id }) => id)) };
  }

  private idRows(caller: Caller, ids: readonly number[]): Promise<PreviewRow[]> {
    const where = new Where().in('id', [...new Set(ids)]);
    if (caller.queues) where.in('queue', caller.queues);
    return this.database.read((manager) =>
      queryRows<PreviewRow>(
        manager,
        `SELECT fingerprint AS "group", queue, status, replay_count AS replays, 1 AS count,
           CASE WHEN redacted_paths = '[]' THEN 0 ELSE 1 END AS redacted FROM dead_letters ${where.sql}`,
        where.params,
      ),
    );
  }

  private groupsOf(
    rows: readonly PreviewRow[],
  ): Promise<{ id: string; errorName: string; message: string }[]> {
    const where = new Where().in('fingerprint', [...new Set(rows.map(({ group }) => group))].slice(0, 1_000));
    return this.database.read((manager) =>
      queryRows(
        manager,
        `SELECT fingerprint AS id, error_name AS "errorName", message FROM dead_letter_groups ${where.sql}`,
        where.params,
      ),
    );
  }

  private draft(caller: Caller, body: BulkActionDto, filter: LetterFilter): BulkRow {
    const { kind, ids, ratePerSecond, canary, note } = body;
    if (canary && kind !== 'requeue')
      throw new InvalidRequestError('canary', 'only a requeue can fail again');
    return {
      id: randomUUID(),
      kind,
      status: 'frozen',
      selection: {
        ...(ids ? { ids: ids.length } : { filter }),
        scope: caller.queues ? [...caller.queues] : null,
        note,
      },
      ratePerSecond: ratePerSecond ?? null,
      canary: canary ? startCanary({ ...DEFAULT_CANARY, ...withoutUndefined(canary) }) : null,
      total: 0,
      done: 0,
      skipped: 0,
      failedAgain: 0,
      reason: null,
      createdBy: actorOf(caller),
      createdKey: caller.keyId,
      createdAt: this.clock.now(),
      finishedAt: null,
      approveBefore: null,
      approvedBy: null,
    };
  }

  /** Copies the selection; from here on it neither grows nor changes. */
  private async freeze(
    tx: EntityManager,
    action: BulkRow,
    caller: Caller,
    body: BulkActionDto,
    filter: LetterFilter,
  ): Promise<number> {
    const receipt = body.ids ? null : await this.receiptOf(caller, body.kind, filter, body.confirm);
    await this.repository.add(tx, action);
    const total = body.ids
      ? await freezeIds(tx, action.id, [...new Set(body.ids)])
      : await freeze(tx, action.id, { filter, scope: caller.queues, maxId: receipt?.maxId });
    if (receipt && total > receipt.count)
      throw new ConflictProblem(
        'SELECTION_CHANGED',
        `the selection has grown from ${receipt.count} to ${total}; look at a new dry run`,
      );
    if (total > this.config.MAX_BULK_LETTERS)
      throw new ProblemError(
        422,
        'TOO_MANY',
        `${total} letters are more than MAX_BULK_LETTERS; narrow the filter`,
      );
    await this.repository.setTotal(tx, action.id, total, this.approveBefore(body.kind, total));
    return total;
  }

  private approveBefore(kind: BulkKind, total: number): number | null {
    const { DISCARD_APPROVAL_ABOVE: most } = this.config;
    if (kind !== 'discard' || most === undefined || total <= most) return null;
    return this.clock.now() + APPROVAL_MS;
  }

  private async shown(caller: Caller, kind: BulkKind, filter: LetterFilter): Promise<Shown> {
    const key = await this.secrets.of('bulk-confirm', this.clock.now());
    return { key, caller: caller.keyId, kind, filter };
  }

  private async receiptOf(
    caller: Caller,
    kind: BulkKind,
    filter: LetterFilter,
    confirm: string | undefined,
  ): Promise<{ maxId: number; count: number }> {
    const shown = await this.shown(caller, kind, filter);
    const receipt = confirm === undefined ? null : readConfirmToken(confirm, shown);
    if (receipt) return receipt;
    throw new ConflictProblem('CONFIRM', 'do a dry run of this kind and filter first and send its `confirm`');
  }

  private async visible(caller: Caller, id: string): Promise<BulkRow> {
    const row = await this.repository.find(id);
    if (row && (!caller.queues || row.createdBy === actorOf(caller) || covers(caller, row))) return row;
    throw new NotFoundProblem('bulk action');
  }
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
  const { createdKey: _key, ...plain } = row;
  const { note: _note, ...whole } = row.selection;
  const selection = mayAct(caller, 'operator') ? whole : withoutValues(whole);
  return {
    ...plain,
    status: isPending(row) ? 'pending' : row.status,
    selection,
    canary: row.canary && {
      steps: row.canary.steps,
      maxFailures: row.canary.maxFailures,
      step: row.canary.step,
      waiting: row.canary.waitingSince !== null,
    },
    waiting: row.total - row.done - row.skipped,
    skippedReasons: [],
  };
}

function withoutUndefined<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}
