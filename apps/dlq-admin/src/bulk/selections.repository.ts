import {
  BulkActionItemEntity,
  bulkInsert,
  dialectOf,
  execute,
  queryOne,
  queryRows,
  rowsOf,
  type EntityManager,
} from '#database';
import { needlesOf, whereOf, type Criteria } from '../letters/criteria.js';
import { verified } from '../letters/letters.repository.js';
import { matching, type LetterSource } from '../letters/text-index.js';
import type { Where } from '../letters/where.js';

/** Letters that a bulk action would treat alike. */
export interface PreviewRow {
  group: string;
  queue: string;
  status: string;
  redacted: number;
  replays: number;
  count: number;
}

const MAX_VERIFIED = 10_000;

/** Copies the ids of the selection, oldest letter first. Returns how many. */
export async function freeze(tx: EntityManager, actionId: string, criteria: Criteria): Promise<number> {
  if (criteria.filter.payload) {
    const letters = await verified(tx, criteria, criteria.filter.payload, null, MAX_VERIFIED);
    return freezeIds(tx, actionId, letters.map(({ id }) => id).reverse());
  }
  const where = whereOf(criteria, dialectOf(tx));
  const action = where.param(actionId);
  const source = await matching(tx, needlesOf(criteria.filter), where);
  // The cast tells PostgreSQL what the parameter is; SQLite does not mind.
  return execute(
    tx,
    `INSERT INTO bulk_action_items (action_id, position, letter_id) ${source.with}
     SELECT CAST(${action} AS TEXT), row_number() OVER (ORDER BY d.dead_lettered_at, d.id) - 1, d.id
     FROM ${source.from} ${where.sql}`,
    where.params,
  );
}

export async function freezeIds(
  tx: EntityManager,
  actionId: string,
  ids: readonly number[],
): Promise<number> {
  const items = ids.map((letterId, position) => ({ actionId, position, letterId }));
  return bulkInsert(tx, rowsOf(BulkActionItemEntity, ['actionId', 'position', 'letterId'], items));
}

/** Letters of the selection by group and queue, and the newest id, as of now. */
export async function preview(
  manager: EntityManager,
  criteria: Criteria,
): Promise<{ maxId: number; rows: PreviewRow[] }> {
  const { max } = await queryOne<{ max: number | null }>(manager, 'SELECT max(id) AS max FROM dead_letters');
  const maxId = criteria.maxId ?? max ?? 0;
  const where = whereOf({ ...criteria, maxId }, dialectOf(manager));
  const source = await matching(manager, needlesOf(criteria.filter), where);
  const rows = await queryRows<PreviewRow>(manager, previewSql(source, where), where.params);
  return { maxId, rows };
}

function previewSql(source: LetterSource, where: Where): string {
  return `${source.with} SELECT d.fingerprint AS "group", d.queue, d.status, d.replay_count AS replays,
      CASE WHEN d.redacted_paths = '[]' THEN 0 ELSE 1 END AS redacted, count(*) AS count
    FROM ${source.from} ${where.sql}
    GROUP BY d.fingerprint, d.queue, d.status, d.replay_count, CASE WHEN d.redacted_paths = '[]' THEN 0 ELSE 1 END`;
}
