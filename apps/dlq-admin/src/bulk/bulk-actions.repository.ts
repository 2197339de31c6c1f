import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { In, IsNull, MoreThan } from 'typeorm';
import { bulkExecute, bulkInsert, Database, databaseNow, dialectOf, execute } from '#database';
import { queryOne, queryRows, rowsOf, type EntityManager } from '#database';
import { BulkActionEntity, BulkActionItemEntity, DeadLetterGroupEntity, SharedSecretEntity } from '#database';
import type { BulkAction, BulkKind, BulkPreview } from '#dlq-client';
import type { Cursor } from '../http/field.js';
import type { Criteria } from '../letters/criteria.js';
import { refusalOf, type Standing } from '../letters/letter-changes.repository.js';
import { verified } from '../letters/letters.repository.js';
import { matching } from '../letters/text-index.js';
import type { CanaryState } from './canary.js';

/** A bulk action as it is stored. The selection tells what was asked for, of which queues, and why. */
export interface BulkRow extends Omit<BulkActionEntity, 'selection' | 'canary'> {
  selection: { scope?: string[] | null; note?: string } & Record<string, unknown>;
  canary: CanaryState | null;
}

type BulkEnd = Pick<BulkRow, 'status' | 'reason' | 'finishedAt'>;

type BulkItem = Pick<BulkActionItemEntity, 'position' | 'letterId'>;

/** What became of an item: why it was skipped, null when it was done. */
type SettledItem = Pick<BulkActionItemEntity, 'position' | 'error'>;

/** Bulk actions and what became of their items. Every write of a runner is conditional on its claim. */
@Injectable()
export class BulkActionsRepository {
  constructor(private readonly database: Database) {}

  /** False when it waits for nobody, or no longer. */
  async approve(tx: EntityManager, id: string, by: string, now: number): Promise<boolean> {
    const waiting = { id, status: 'frozen' as const, approvedBy: IsNull(), approveBefore: MoreThan(now) };
    const { affected } = await tx.update(BulkActionEntity, waiting, { approvedBy: by });
    return affected === 1;
  }

  /** Actions that nobody approved in time. */
  async unapproved(now: number): Promise<string[]> {
    const rows = await this.database.rows<{ id: string }>(
      `SELECT id FROM bulk_actions WHERE status IN ('frozen', 'running') AND approved_by IS NULL AND approve_before <= $1`,
      [now],
    );
    return rows.map(({ id }) => id);
  }

  find(id: string): Promise<BulkRow | null> {
    const read = (manager: EntityManager) => manager.findOneBy(BulkActionEntity, { id });
    return this.database.read(read) as Promise<BulkRow | null>;
  }

  list(after: Cursor | null, limit: number, createdBy: string | null): Promise<BulkRow[]> {
    return this.database.read((manager) => {
      const actions = manager.createQueryBuilder(BulkActionEntity, 'a');
      if (after) actions.andWhere('(a.createdAt, a.id) < (:at, :id)', { at: after.at, id: after.id });
      if (createdBy !== null) actions.andWhere({ createdBy });
      actions.orderBy('a.createdAt', 'DESC').addOrderBy('a.id', 'DESC').limit(limit);
      return actions.getMany() as Promise<BulkRow[]>;
    });
  }

  /** Why items were skipped. */
  skippedReasons(id: string): Promise<BulkAction['skippedReasons']> {
    return this.database.rows(
      `SELECT coalesce(error, 'unknown') AS reason, count(*) AS count FROM bulk_action_items
       WHERE action_id = $1 AND state = 'skipped' GROUP BY 1 ORDER BY 2 DESC, 1`,
      [id],
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
  async claim(holder: string, leaseMs: number): Promise<BulkRow | null> {
    return this.database.inTransaction(async (tx) => {
      const now = databaseNow(dialectOf(tx));
      const skip = dialectOf(tx) === 'postgres' ? 'FOR UPDATE SKIP LOCKED' : '';
      const [claimed] = await queryRows<{ id: string }>(
        tx,
        `UPDATE bulk_actions SET status = 'running', claimed_by = $1, claimed_until = ${now} + $2
         WHERE id = (SELECT b.id FROM bulk_actions b WHERE b.status IN ('frozen', 'running') AND b.claimed_until < ${now}
           AND (b.approve_before IS NULL OR b.approved_by IS NOT NULL)
           ORDER BY b.created_at, b.id LIMIT 1 ${skip})
         RETURNING id`,
        [holder, leaseMs],
      );
      return claimed ? this.find(claimed.id) : null;
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

  async settle(tx: EntityManager, id: string, step: number, items: readonly SettledItem[]): Promise<void> {
    const columns = { position: 'int', state: 'text', error: 'text' } as const;
    const rows = items.map(({ position, error }) => [position, error === null ? 'done' : 'skipped', error]);
    await bulkExecute(
      tx,
      { columns, alias: 'v', rows, extra: [id, step] },
      (source, [action, at]) => `UPDATE bulk_action_items SET state = v.state, error = v.error, step = ${at}
        FROM ${source} WHERE bulk_action_items.action_id = ${action} AND bulk_action_items.position = v.position`,
    );
  }

  /** Adds to the progress and renews the claim. False: aborted, or another's by now; the caller rolls back. */
  async advance(
    tx: EntityManager,
    { id, canary }: BulkRow,
    claim: { holder: string; leaseMs: number },
    { done = 0, skipped = 0 },
  ): Promise<boolean> {
    const changed = await execute(
      tx,
      `UPDATE bulk_actions SET done = done + $1, skipped = skipped + $2, canary = $3,
         claimed_until = ${databaseNow(dialectOf(tx))} + $4
       WHERE id = $5 AND claimed_by = $6 AND status = 'running'`,
      [done, skipped, canary && JSON.stringify(canary), claim.leaseMs, id, claim.holder],
    );
    return changed === 1;
  }

  /** Ends an action; false when it has ended already. */
  async finish(tx: EntityManager, id: string, end: BulkEnd): Promise<boolean> {
    const open = { id, status: In(['frozen', 'running']) };
    const { affected } = await tx.update(BulkActionEntity, open, { ...end, claimedUntil: 0 });
    return affected === 1;
  }

  /** Lets another runner take it at once. */
  async release(id: string, claimedBy: string): Promise<void> {
    await this.database.inTransaction((tx) =>
      tx.update(BulkActionEntity, { id, claimedBy }, { claimedUntil: 0 }),
    );
  }

  /** Of the letters that a canary step has requeued, how many have failed again, which is noted, and how many have no outcome yet. */
  async outcomesOf(id: string, step: number): Promise<{ failed: number; pending: number }> {
    const sql = `SELECT count(CASE WHEN d.status <> 'requeued' THEN 1 END) AS failed,
        count(CASE WHEN d.status = 'requeued' AND d.resolved_at IS NULL THEN 1 END) AS pending
      FROM bulk_action_items i JOIN dead_letters d ON d.id = i.letter_id
      WHERE i.action_id = $1 AND i.step = $2 AND i.state IN ('done', 'failed-again')`;
    const outcomes = await this.database.read((manager) =>
      queryOne<{ failed: number; pending: number }>(manager, sql, [id, step]),
    );
    if (outcomes.failed > 0) await this.database.inTransaction((tx) => markFailedAgain(tx, id, step));
    return outcomes;
  }

  /** What every replica signs receipts with, and nobody outside knows: made at first use. */
  confirmKey(now: number): Promise<string> {
    return this.database.inTransaction(async (tx) => {
      const secrets = tx.getRepository(SharedSecretEntity);
      const made = { name: 'bulk-confirm', value: randomBytes(32).toString('base64url'), createdAt: now };
      await secrets.createQueryBuilder().insert().values(made).orIgnore().execute();
      return (await secrets.findOneByOrFail({ name: made.name })).value;
    });
  }
}

async function markFailedAgain(tx: EntityManager, id: string, step: number): Promise<void> {
  const marked = await execute(
    tx,
    `UPDATE bulk_action_items SET state = 'failed-again' WHERE action_id = $1 AND step = $2 AND state = 'done'
       AND EXISTS (SELECT 1 FROM dead_letters d WHERE d.id = bulk_action_items.letter_id AND d.status <> 'requeued')`,
    [id, step],
  );
  await tx.increment(BulkActionEntity, { id }, 'failedAgain', marked);
}

/** Letters that a bulk action would treat alike. */
interface AlikeLetters extends Standing {
  group: string;
  queue: string;
  count: number;
}

const MAX_VERIFIED = 10_000;
const MAX_REASONS = 50;

/** Copies the ids of the selection, oldest letter first. Returns how many. */
export async function freeze(tx: EntityManager, actionId: string, criteria: Criteria): Promise<number> {
  if (criteria.filter.payload) {
    const letters = await verified(tx, criteria, MAX_VERIFIED);
    return freezeIds(tx, actionId, letters.map(({ id }) => id).reverse());
  }
  const { where, ...source } = await matching(tx, criteria);
  const action = where.param(actionId);
  // The cast tells PostgreSQL what the parameter is; SQLite does not mind.
  return execute(
    tx,
    `INSERT INTO bulk_action_items (action_id, position, letter_id) ${source.with}
     SELECT CAST(${action} AS TEXT), row_number() OVER (ORDER BY d.dead_lettered_at, d.id) - 1, d.id
     FROM ${source.from} ${where.sql}`,
    where.params,
  );
}

export function freezeIds(tx: EntityManager, actionId: string, ids: readonly number[]): Promise<number> {
  const items = ids.map((letterId, position) => ({ actionId, position, letterId }));
  return bulkInsert(tx, rowsOf(BulkActionItemEntity, ['actionId', 'position', 'letterId'], items));
}

/** The letters of the selection, counted by what decides about them, and the newest id, as of now. */
async function countSelection(
  manager: EntityManager,
  criteria: Criteria,
): Promise<{ maxId: number; rows: AlikeLetters[] }> {
  if (criteria.filter.payload) {
    const letters = await verified(manager, criteria, MAX_VERIFIED);
    const rows = letters.map((one) => ({ ...one, replays: one.replayCount, redacted: false, count: 1 }));
    return { rows, maxId: Math.max(0, ...letters.map(({ id }) => id)) };
  }
  const { max } = await queryOne<{ max: number | null }>(manager, 'SELECT max(id) AS max FROM dead_letters');
  const maxId = max ?? 0;
  const { where, ...source } = await matching(manager, { ...criteria, maxId });
  const redacted = "CASE WHEN d.redacted_paths = '[]' THEN 0 ELSE 1 END";
  const rows = await queryRows<Omit<AlikeLetters, 'redacted'> & { redacted: number }>(
    manager,
    `${source.with} SELECT d.fingerprint AS "group", d.queue, d.status, d.replay_count AS replays,
       ${redacted} AS redacted, count(*) AS count
     FROM ${source.from} ${where.sql} GROUP BY d.fingerprint, d.queue, d.status, d.replay_count, ${redacted}`,
    where.params,
  );
  return { maxId, rows: rows.map((row) => ({ ...row, redacted: row.redacted === 1 })) };
}

type Preview = Omit<BulkPreview, 'dryRun' | 'confirm'> & { maxId: number };

/** What a bulk action would do with the letters as they stand now. Payloads are looked at only when it runs. */
export const previewOf =
  (kind: BulkKind, criteria: Criteria, maxReplays: number) =>
  async (manager: EntityManager): Promise<Preview> => {
    const { rows, maxId } = await countSelection(manager, criteria);
    const causes = counted(rows, ({ group }) => group);
    const named = causes.slice(0, MAX_REASONS).map(([id]) => id);
    const groups = await manager.findBy(DeadLetterGroupEntity, { fingerprint: In(named) });
    const outcomes = counted(rows, (row) => refusalOf(kind, row, maxReplays) ?? '');
    const total = rows.reduce((sum, { count }) => sum + count, 0);
    const skipped = outcomes.filter(([reason]) => reason !== '');
    return {
      maxId,
      total,
      eligible: skipped.reduce((left, [, count]) => left - count, total),
      skipped: skipped.map(([reason, count]) => ({ reason, count })),
      reasons: causes.slice(0, MAX_REASONS).map(([group, count]) => {
        const { errorName = 'unknown', message = '' } = groups.find((one) => one.fingerprint === group) ?? {};
        return { group, errorName, message, count };
      }),
      queues: counted(rows, ({ queue }) => queue).map(([queue, count]) => ({ queue, count })),
    };
  };

/** How many letters there are of each key, the most first. */
function counted(rows: readonly AlikeLetters[], keyOf: (row: AlikeLetters) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + row.count);
  return [...counts].sort(([, a], [, b]) => b - a);
}
