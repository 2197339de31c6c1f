import { bulkExecute, columnsOf, DeadLetterGroupEntity, dialectOf, execute, queryRows } from '#database';
import type { DeadLetterEntity, EntityManager } from '#database';
import type { Group } from '#dlq-client';
import { conflict } from '../http/problems.js';
import type { Cause } from '../ingest/fingerprint.js';
import { ensureGroups, HOUR_MS, partOf } from '../ingest/letter-groups.repository.js';
import type { Failure, Placed } from '../ingest/letter-groups.repository.js';
import { Where } from '../letters/where.js';

const MAX_PARTS = 50;
const CHUNK = 2_000;

// Letters before groups: the order in which every other writer takes them.

/**
 * Moves all letters of one group to another, and those to come. A merge into a group that had itself been merged or split
 * ends that, so no letter is sent in a circle.
 */
export async function mergeGroups(tx: EntityManager, from: string, into: string): Promise<void> {
  const move = (): Promise<number> =>
    execute(tx, 'UPDATE dead_letters SET fingerprint = $2 WHERE fingerprint = $1', [from, into]);
  await move();
  await execute(
    tx,
    `UPDATE dead_letter_groups SET split_by = NULL, merged_into = CASE WHEN fingerprint = $2 THEN NULL ELSE $2 END
     WHERE fingerprint IN ($1, $2) OR merged_into = $1`,
    [from, into],
  );
  // Those that were taken in before the groups were locked.
  await move();
  await recount(tx, [from, into]);
}

/** Moves the letters of a group to one group for each value of a field, and those to come. Returns the new groups. */
export async function splitGroup(tx: EntityManager, group: Group, field: string): Promise<string[]> {
  const cause = { fingerprint: group.id, message: group.message, frame: group.frame };
  const parts = new Map<string, { newest: Failure; ids: number[] }>();
  for await (const letter of lettersOf(tx, group.id)) addTo(parts, letter, partOf(cause, field, letter));
  requireParts(parts.size, field);
  const ids = [...parts.keys()];
  const newest = [...parts.values()].map((part) => part.newest);
  await ensureGroups(tx, newest);
  const rows = [...parts].flatMap(([part, { ids: letters }]) => letters.map((id) => [id, part]));
  await bulkExecute(
    tx,
    { columns: { id: 'int', part: 'text' }, alias: 'v', rows },
    (source) => `UPDATE dead_letters SET fingerprint = v.part FROM ${source} WHERE dead_letters.id = v.id`,
  );
  await tx.update(DeadLetterGroupEntity, ids, { mergedInto: null, splitBy: null });
  await tx.update(DeadLetterGroupEntity, group.id, { mergedInto: null, splitBy: field });
  await recount(tx, [group.id, ...ids]);
  return ids;
}

type Member = Placed & Omit<Failure, 'cause'> & { id: number };

const MEMBER = columnsOf<DeadLetterEntity>(
  ['id', 'queue', 'name', 'reason', 'lastWorkerId', 'errorName', 'errorMessage', 'payload', 'deadLetteredAt'],
  'd',
);

async function* lettersOf(tx: EntityManager, group: string): AsyncGenerator<Member> {
  const lock = dialectOf(tx) === 'postgres' ? ' FOR UPDATE' : '';
  for (let after = 0; ;) {
    const rows = await queryRows<Member>(
      tx,
      `SELECT ${MEMBER} FROM dead_letters d WHERE d.fingerprint = $1 AND d.id > $2 ORDER BY d.id LIMIT ${CHUNK}${lock}`,
      [group, after],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < CHUNK) return;
    after = last.id;
  }
}

function addTo(
  parts: Map<string, { newest: Failure; ids: number[] }>,
  { id, errorName, errorMessage, deadLetteredAt }: Member,
  cause: Cause,
): void {
  const letter = { cause, errorName, errorMessage, deadLetteredAt };
  const part = parts.get(cause.fingerprint) ?? { newest: letter, ids: [] };
  part.ids.push(id);
  if (part.newest.deadLetteredAt < deadLetteredAt) part.newest = letter;
  if (parts.size < MAX_PARTS + 1) parts.set(cause.fingerprint, part);
}

function requireParts(parts: number, field: string): void {
  const one = `all letters of the group have the same ${field}; choose another field`;
  if (parts < 2) throw conflict('ONE_PART', one);
  const many = `the letters of the group have more than ${MAX_PARTS} values of ${field}; choose a field that few share`;
  if (parts > MAX_PARTS) throw conflict('TOO_MANY_PARTS', many);
}

/** Counts groups anew from their letters. */
async function recount(tx: EntityManager, groups: readonly string[]): Promise<void> {
  const { sql, params } = new Where().in('fingerprint', groups);
  const run = (text: string, rest = ''): Promise<number> => execute(tx, `${text} ${sql} ${rest}`, params);
  await run('DELETE FROM dead_letter_tallies');
  await run('DELETE FROM dead_letter_hours');
  const counts = "count(*), count(CASE WHEN status = 'open' THEN 1 END), max(dead_lettered_at)";
  const tallies = `INSERT INTO dead_letter_tallies (fingerprint, queue, worker, total, open, last_seen_at)
    SELECT fingerprint, queue, last_worker_id, ${counts} FROM dead_letters`;
  await run(tallies, 'GROUP BY 1, 2, 3');
  const hours = `INSERT INTO dead_letter_hours (fingerprint, queue, hour, arrived)
    SELECT fingerprint, queue, dead_lettered_at / ${HOUR_MS}, count(*) FROM dead_letters`;
  await run(hours, 'GROUP BY 1, 2, 3');
  const own = (what: string): string =>
    `(SELECT ${what} FROM dead_letter_tallies t WHERE t.fingerprint = dead_letter_groups.fingerprint)`;
  const first =
    '(SELECT min(dead_lettered_at) FROM dead_letters d WHERE d.fingerprint = dead_letter_groups.fingerprint)';
  await run(`UPDATE dead_letter_groups SET total = coalesce(${own('sum(total)')}, 0),
    open = coalesce(${own('sum(open)')}, 0), last_seen_at = coalesce(${own('max(last_seen_at)')}, last_seen_at),
    first_seen_at = coalesce(${first}, first_seen_at)`);
}
