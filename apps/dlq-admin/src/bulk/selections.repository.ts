import { In } from 'typeorm';
import { bulkInsert, execute, queryOne, queryRows, rowsOf } from '#database';
import { BulkActionItemEntity, DeadLetterGroupEntity, type EntityManager } from '#database';
import type { BulkKind, BulkPreview } from '#dlq-client';
import type { Criteria } from '../letters/criteria.js';
import { refusalOf, type Standing } from '../letters/letter-changes.repository.js';
import { verified } from '../letters/letters.repository.js';
import { matching } from '../letters/text-index.js';

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
