import { Inject, Injectable } from '@nestjs/common';
import { AuditLog, Database, type EntityManager } from '#database';
import { CLOCK, faultPoint, IDENTITY, LOGGER, Loop, Metrics } from '#service';
import type { Clock, Identity, Logger } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { LetterChanges } from '../letters/letter-changes.repository.js';
import { RequeuedLetters } from '../letters/requeued-letters.service.js';
import { BulkActionsRepository, type BulkRow } from './bulk-actions.repository.js';
import { decide, type CanaryState } from './canary.js';
import { Pace } from './pace.js';

type Ended = 'completed' | 'stopped';

const CHUNK = 500;
const LEASE_MS = 10_000;
const IDLE_MS = 1_000;
const AWAIT_MS = 250;

/** The action was aborted, or another runner has it: what this one was about to commit is not committed. */
class ClaimLostError extends Error {}

/**
 * Carries out bulk actions, chunk by chunk. Each chunk is one transaction (letters, outbox, history, items, progress) that
 * commits only while the action is still this runner's and not aborted; so neither abort nor crash loses or doubles a
 * letter, and another runner goes on where this one ended.
 */
@Injectable()
export class BulkRunner extends Loop {
  private readonly letterCount;
  private current: { action: BulkRow; pace: Pace } | undefined;

  constructor(
    private readonly database: Database,
    private readonly repository: BulkActionsRepository,
    private readonly changes: LetterChanges,
    private readonly requeued: RequeuedLetters,
    private readonly audit: AuditLog,
    private readonly config: DlqAdminConfig,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'bulk actions', logger, idleMs: () => (this.current ? AWAIT_MS : IDLE_MS) });
    this.letterCount = metrics.counter({
      name: 'millrace_dlq_bulk_letters_total',
      help: 'Letters changed or passed over by bulk actions.',
    });
  }

  override async stop(): Promise<void> {
    await super.stop();
    const current = this.current;
    this.current = undefined;
    if (current) await this.repository.release(current.action.id, this.identity.workerId).catch(() => {});
  }

  /** One chunk of one action. Returns whether there is more to do at once. */
  override async tick(): Promise<boolean> {
    if (!this.current) {
      await this.expire();
      const action = await this.repository.claim(this.identity.workerId, LEASE_MS);
      if (!action) return false;
      this.current = { action, pace: new Pace(action.ratePerSecond) };
      this.logger.info({ action: action.id, kind: action.kind, total: action.total }, 'bulk action taken');
    }
    try {
      return await this.proceed(this.current.action, this.current.pace);
    } catch (error) {
      this.current = undefined;
      if (!(error instanceof ClaimLostError)) throw error;
      return true;
    }
  }

  private async proceed(action: BulkRow, pace: Pace): Promise<boolean> {
    const allowed = action.canary ? await this.canaryAllows(action, action.canary) : CHUNK;
    if (allowed === 'ended') return true;
    if (allowed === 'await') return false;
    const limit = pace.take(Math.min(CHUNK, allowed), this.clock.monotonic());
    if (limit === 0) {
      await this.database.inTransaction((tx) => this.renew(tx, action));
      return false;
    }
    const settled = await this.database.inTransaction((tx) => this.chunk(tx, action, limit));
    await faultPoint('dlq-admin.bulk-after-commit');
    this.letterCount.inc(settled);
    if (settled < limit && !action.canary) await this.end(action, 'completed', null);
    return action.ratePerSecond === null || settled < limit;
  }

  /** Returns how many letters were changed or passed over. */
  private async chunk(tx: EntityManager, action: BulkRow, limit: number): Promise<number> {
    const items = await this.repository.nextItems(tx, action.id, limit);
    const ids = items.map(({ letterId }) => letterId);
    const { id, createdBy: actor, selection } = action;
    const letters = await this.changes.lock(tx, ids, selection.scope ?? null);
    const context = { actor, now: this.clock.now(), action: id, note: selection.note };
    const outcomes = await this.changes.apply(tx, action.kind, letters, context);
    const settled = items.map(({ position, letterId }) => {
      const refusal = outcomes.get(letterId);
      return { position, error: refusal === undefined ? 'gone' : refusal };
    });
    await this.repository.settle(tx, action.id, action.canary?.step ?? 0, settled);
    const done = settled.filter(({ error }) => error === null).length;
    await this.renew(tx, action, { done, skipped: settled.length - done });
    await faultPoint('dlq-admin.bulk-before-commit');
    return settled.length;
  }

  /** How many letters the canary lets through now. */
  private async canaryAllows(action: BulkRow, state: CanaryState): Promise<number | 'await' | 'ended'> {
    const row = await this.repository.find(action.id);
    if (!row || row.status !== 'running') throw new ClaimLostError();
    const outcomes = await this.repository.outcomesOf(action.id, state.step);
    const decision = decide(state, {
      ...{ ...outcomes, position: row.done + row.skipped, total: row.total },
      ...{ now: this.clock.now(), timeoutMs: this.config.CANARY_TIMEOUT_MS },
    });
    switch (decision.do) {
      case 'requeue':
        return decision.limit;
      case 'next':
        await this.saveCanary(action, decision.state);
        return this.canaryAllows(action, decision.state);
      case 'complete':
        return this.end(action, 'completed', null);
      case 'stop':
        return this.end(action, 'stopped', decision.reason);
      case 'await':
        await this.saveCanary(action, { ...state, waitingSince: state.waitingSince ?? this.clock.now() });
        this.requeued.wake();
        return 'await';
    }
  }

  private async saveCanary(action: BulkRow, canary: CanaryState): Promise<void> {
    action.canary = canary;
    await this.database.inTransaction((tx) => this.renew(tx, action));
  }

  /** Keeps the claim, with the progress made. */
  private async renew(tx: EntityManager, action: BulkRow, progress = {}): Promise<void> {
    const claim = { holder: this.identity.workerId, leaseMs: LEASE_MS };
    if (!(await this.repository.advance(tx, action, claim, progress))) throw new ClaimLostError();
  }

  private async end({ id }: BulkRow, status: Ended, reason: string | null): Promise<'ended'> {
    if (!(await this.record(id, status, reason))) throw new ClaimLostError();
    this.current = undefined;
    return 'ended';
  }

  /** Ends what waited in vain for a second person. */
  private async expire(): Promise<void> {
    for (const id of await this.repository.unapproved(this.clock.now()))
      await this.record(id, 'stopped', 'not approved in time');
  }

  private async record(id: string, status: Ended, reason: string | null): Promise<boolean> {
    const ended = await this.database.inTransaction(async (tx) => {
      const now = this.clock.now();
      if (!(await this.repository.finish(tx, id, { status, reason, finishedAt: now }))) return false;
      const row = await this.repository.find(id);
      await this.audit.append(tx, {
        ...{ at: now, actor: 'system', action: `bulk.${status}`, target: `bulk:${id}`, result: 'ok' },
        after: { done: row?.done, skipped: row?.skipped, total: row?.total },
        ...(reason && { reason }),
      });
      return true;
    });
    if (ended) this.logger.info({ action: id, status, reason }, 'bulk action ended');
    return ended;
  }
}
