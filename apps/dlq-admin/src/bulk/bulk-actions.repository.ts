import { Injectable } from '@nestjs/common';
import {
  bulkQuery,
  columnsOf,
  Database,
  databaseNow,
  dialectOf,
  execute,
  queryRows,
  type BulkActionEntity,
  type EntityManager,
} from '#database';
import type { BulkAction } from '#dlq-client';
import type { Cursor } from '../letters/cursor.js';
import { Where } from '../letters/where.js';
import type { CanaryState } from './canary.js';

const SHOWN = [
  ...(['id', 'kind', 'status', 'selection', 'ratePerSecond', 'canary'] as const),
  ...(['total', 'done', 'skipped', 'failedAgain', 'reason'] as const),
  ...(['createdBy', 'createdKey', 'createdAt', 'finishedAt', 'approveBefore', 'approvedBy'] as const),
];

export interface BulkRow extends Omit<
  Pick<BulkActionEntity, (typeof SHOWN)[number]>,
  'selection' | 'canary'
> {
  selection: { scope?: string[] | null; actor?: string; note?: string } & Record<string, unknown>;
  canary: CanaryState | null;
}

const COLUMNS = columnsOf<BulkActionEntity>(SHOWN, 'a');

type Raw = Omit<BulkRow, 'selection' | 'canary'> & { selection: string; canary: string | null };

const parse = (raw: Raw): BulkRow => ({
  ...raw,
  selection: JSON.parse(raw.selection) as BulkRow['selection'],
  canary: raw.canary === null ? null : (JSON.parse(raw.canary) as CanaryState),
});

export interface BulkItem {
  position: number;
  letterId: number;
}

/** Bulk actions and what became of their items. Every write of a runner is conditional on its claim. */
@Injectable()
export class BulkActionsRepository {
  constructor(private readonly database: Database) {}

  async add(tx: EntityManager, action: BulkRow): Promise<void> {
    await execute(
      tx,
      `INSERT INTO bulk_actions (id, kind, status, selection, rate_per_second, canary, total, created_by, created_at, created_key)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        action.id,
        action.kind,
        action.status,
        JSON.stringify(action.selection),
        action.ratePerSecond,
        action.canary && JSON.stringify(action.canary),
        action.total,
        action.createdBy,
        action.createdAt,
        action.createdKey,
      ],
    );
  }

  async setTotal(tx: EntityManager, id: string, total: number, approveBefore: number | null): Promise<void> {
    await execute(tx, 'UPDATE bulk_actions SET total = $1, approve_before = $2 WHERE id = $3', [
      total,
      approveBefore,
      id,
    ]);
  }

  /** False when it waits for nobody, or no longer. */
  async approve(tx: EntityManager, id: string, by: string, now: number): Promise<boolean> {
    const changed = await execute(
      tx,
      `UPDATE bulk_actions SET approved_by = $1
       WHERE id = $2 AND status = 'frozen' AND approved_by IS NULL AND approve_before > $3`,
      [by, id, now],
    );
    return changed === 1;
  }

  /** Actions that nobody approved in time. */
  async unapproved(now: number): Promise<string[]> {
    const rows = await this.database.read((manager) =>
      queryRows<{ id: string }>(
        manager,
        `SELECT id FROM bulk_actions WHERE status IN ('frozen', 'running') AND approved_by IS NULL AND approve_before <= $1`,
        [now],
      ),
    );
    return rows.map(({ id }) => id);
  }

  async find(id: string, manager?: EntityManager): Promise<BulkRow | undefined> {
    const read = (from: EntityManager): Promise<Raw[]> =>
      queryRows<Raw>(from, `SELECT ${COLUMNS} FROM bulk_actions a WHERE a.id = $1`, [id]);
    const [raw] = await (manager ? read(manager) : this.database.read(read));
    return raw && parse(raw);
  }

  async list(after: Cursor | null, limit: number, createdBy: string | null): Promise<BulkRow[]> {
    const where = new Where();
    if (after) where.and('(a.created_at, a.id) < (?, ?)', after.at, String(after.id));
    if (createdBy !== null) where.and('a.created_by = ?', createdBy);
    const rows = await this.database.read((manager) =>
      queryRows<Raw>(
        manager,
        `SELECT ${COLUMNS} FROM bulk_actions a ${where.sql} ORDER BY a.created_at DESC, a.id DESC LIMIT ${where.param(limit)}`,
        where.params,
      ),
    );
    return rows.map(parse);
  }

  /** Why items were skipped. */
  skippedReasons(id: string): Promise<BulkAction['skippedReasons']> {
    return this.database.read((manager) =>
      queryRows<{ reason: string; count: number }>(
        manager,
        `SELECT coalesce(error, 'unknown') AS reason, count(*) AS count FROM bulk_action_items
         WHERE action_id = $1 AND state = 'skipped' GROUP BY 1 ORDER BY 2 DESC, 1`,
        [id],
      ),
    );
  }

  /** Selects for an action what another has left. Returns how many. */
  takeRest(tx: EntityManager, id: string, of: string): Promise<number> {
    return execute(
      tx,
      `INSERT INTO bulk_action_items (action_id, position, letter_id)
       SELECT CAST($1 AS TEXT), row_number() OVER (ORDER BY position) - 1, letter_id FROM bulk_action_items
       WHERE action_id = $2 AND state = 'waiting'`,
      [id, of],
    );
  }

  /** Takes one action that nobody runs, or whose runner has died, for `leaseMs`. */
  async claim(holder: string, leaseMs: number): Promise<BulkRow | undefined> {
    return this.database.inTransaction(async (tx) => {
      const now = databaseNow(dialectOf(tx));
      const skip = dialectOf(tx) === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : '';
      const rows = await queryRows<Raw>(
        tx,
        `UPDATE bulk_actions AS a SET status = 'running', claimed_by = $1, claimed_until = ${now} + $2
         WHERE a.id = (SELECT b.id FROM bulk_actions b WHERE b.status IN ('frozen', 'running') AND b.claimed_until < ${now}
           AND (b.approve_before IS NULL OR b.approved_by IS NOT NULL)
           ORDER BY b.created_at, b.id LIMIT 1 ${skip})
         RETURNING ${dialectOf(tx) === 'postgres' ? COLUMNS : columnsOf<BulkActionEntity>(SHOWN)}`,
        [holder, leaseMs],
      );
      return rows[0] && parse(rows[0]);
    });
  }

  nextItems(tx: EntityManager, id: string, limit: number): Promise<BulkItem[]> {
    return queryRows<BulkItem>(
      tx,
      `SELECT position, letter_id AS "letterId" FROM bulk_action_items
       WHERE action_id = $1 AND state = 'waiting' ORDER BY position LIMIT $2`,
      [id, limit],
    );
  }

  async settle(
    tx: EntityManager,
    id: string,
    items: readonly (BulkItem & { state: string; error: string | null; step: number })[],
  ): Promise<void> {
    await bulkQuery(
      tx,
      {
        columns: { action_id: 'text', position: 'int', state: 'text', error: 'text', step: 'int' },
        alias: 'v',
        rows: items.map(({ position, state, error, step }) => [id, position, state, error, step]),
      },
      (source) => `UPDATE bulk_action_items SET state = v.state, error = v.error, step = v.step FROM ${source}
        WHERE bulk_action_items.action_id = v.action_id AND bulk_action_items.position = v.position
        RETURNING bulk_action_items.position`,
    );
  }

  /** Adds to the progress and renews the claim. False: aborted, or another's by now; the caller rolls back. */
  async advance(
    tx: EntityManager,
    id: string,
    holder: string,
    progress: { done: number; skipped: number; leaseMs: number; canary: CanaryState | null },
  ): Promise<boolean> {
    const changed = await execute(
      tx,
      `UPDATE bulk_actions SET done = done + $1, skipped = skipped + $2, canary = $3,
         claimed_until = ${databaseNow(dialectOf(tx))} + $4
       WHERE id = $5 AND claimed_by = $6 AND status = 'running'`,
      [
        progress.done,
        progress.skipped,
        progress.canary && JSON.stringify(progress.canary),
        progress.leaseMs,
        id,
        holder,
      ],
    );
    return changed === 1;
  }

  /** Ends an action; false when it has ended already. */
  async finish(
    tx: EntityManager,
    id: string,
    end: { status: 'completed' | 'aborted' | 'stopped'; reason: string | null; now: number },
  ): Promise<boolean> {
    const changed = await execute(
      tx,
      `UPDATE bulk_actions SET status = $1, reason = $2, finished_at = $3, claimed_until = 0
       WHERE id = $4 AND status IN ('frozen', 'running')`,
      [end.status, end.reason, end.now, id],
    );
    return changed === 1;
  }

  /** Lets another runner take it at once. */
  async release(id: string, holder: string): Promise<void> {
    await this.database.inTransaction((tx) =>
      execute(tx, 'UPDATE bulk_actions SET claimed_until = 0 WHERE id = $1 AND claimed_by = $2', [
        id,
        holder,
      ]),
    );
  }

  /** The letters of a canary step as they stand. */
  stepLetters(
    id: string,
    step: number,
  ): Promise<
    { letterId: number; status: string; queue: string; jobId: string; eventStatus: string | null }[]
  > {
    return this.database.read((manager) =>
      queryRows(
        manager,
        `SELECT i.letter_id AS "letterId", d.status, d.queue, d.replay_job_id AS "jobId", o.status AS "eventStatus"
         FROM bulk_action_items i JOIN dead_letters d ON d.id = i.letter_id
         LEFT JOIN outbox o ON o.id = substr(d.replay_job_id, 3)
         WHERE i.action_id = $1 AND i.step = $2 AND i.state IN ('done', 'failed-again')`,
        [id, step],
      ),
    );
  }

  async markFailedAgain(tx: EntityManager, id: string, letterIds: readonly number[]): Promise<void> {
    const marked = await bulkQuery(
      tx,
      {
        columns: { action_id: 'text', letter_id: 'int' },
        alias: 'v',
        rows: letterIds.map((letterId) => [id, letterId]),
      },
      (source) => `UPDATE bulk_action_items SET state = 'failed-again' FROM ${source}
        WHERE bulk_action_items.letter_id = v.letter_id AND bulk_action_items.action_id = v.action_id
          AND bulk_action_items.state = 'done' RETURNING bulk_action_items.position`,
    );
    await execute(tx, 'UPDATE bulk_actions SET failed_again = failed_again + $1 WHERE id = $2', [
      marked.length,
      id,
    ]);
  }
}
