import { createHash } from 'node:crypto';
import { bulkExecute, bulkInsert, bulkQuery, columnsOf, rowsOf, type EntityManager } from '#database';
import { DeadLetterGroupEntity, DeadLetterHourEntity, DeadLetterTallyEntity } from '#database';
import { scalarAt } from '../letters/criteria.js';
import type { Cause } from './fingerprint.js';
import type { LetterDraft } from './letter-draft.js';

export type Failure = Pick<LetterDraft, 'cause' | 'errorName' | 'errorMessage' | 'deadLetteredAt'>;

export const HOUR_MS = 3_600_000;
const MAX_NEWEST = 300;

/** A change to what is counted of one cause, queue and worker; `lastSeenAt` is 0 when no letter was seen. */
export type TallyChange = DeadLetterTallyEntity;

const GROUP = [
  ...(['fingerprint', 'errorName', 'message', 'frame', 'newest'] as const),
  ...(['firstSeenAt', 'lastSeenAt', 'total', 'open'] as const),
];

/** Gives every cause a group that counts nothing yet; one that is there learns of an older letter and of a newer message. */
export async function ensureGroups(tx: EntityManager, drafts: readonly Failure[]): Promise<void> {
  // A backlog does not come in the order in which it failed.
  const groups = new Map<string, { oldest: Failure; newest: Failure }>();
  for (const newest of [...drafts].sort((a, b) => a.deadLetteredAt - b.deadLetteredAt))
    groups.set(newest.cause.fingerprint, { oldest: newest, ...groups.get(newest.cause.fingerprint), newest });
  const rows = [...groups.values()].map(groupOf).sort((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1));
  await bulkInsert(tx, {
    ...rowsOf(DeadLetterGroupEntity, GROUP, rows),
    onConflict: `(fingerprint) DO UPDATE SET
      first_seen_at = CASE WHEN excluded.first_seen_at < dead_letter_groups.first_seen_at
        THEN excluded.first_seen_at ELSE dead_letter_groups.first_seen_at END,
      newest = CASE WHEN excluded.last_seen_at >= dead_letter_groups.last_seen_at OR dead_letter_groups.newest IS NULL
        THEN excluded.newest ELSE dead_letter_groups.newest END`,
  });
}

function groupOf({ oldest, newest }: { oldest: Failure; newest: Failure }) {
  return {
    ...{ ...oldest.cause, errorName: oldest.errorName, total: 0, open: 0 },
    firstSeenAt: oldest.deadLetteredAt,
    lastSeenAt: newest.deadLetteredAt,
    newest: newest.errorMessage.slice(0, MAX_NEWEST),
  };
}

/**
 * Adds to the counts of groups and tallies in the caller's transaction: lists then read counts instead of counting.
 * Rows are written in one order, so that two writers never wait for each other in a circle. Groups must exist.
 */
export async function tally(tx: EntityManager, changes: readonly TallyChange[]): Promise<void> {
  const groups = sums(changes, ({ fingerprint }) => [fingerprint]);
  await addToGroups(tx, groups);
  const tallies = sums(changes, ({ fingerprint, queue, worker }) => [fingerprint, queue, worker]);
  await bulkInsert(tx, {
    ...rowsOf(DeadLetterTallyEntity, TALLY, tallies),
    onConflict: `(fingerprint, queue, worker) DO UPDATE SET ${added('dead_letter_tallies')}`,
  });
  const arrivals = changes.filter(({ lastSeenAt }) => lastSeenAt > 0);
  await tallyHours(tx, arrivals);
}

const TALLY = ['fingerprint', 'queue', 'worker', 'total', 'open', 'lastSeenAt'] as const;

export const hourOf = (at: number): number => Math.floor(at / HOUR_MS);

async function tallyHours(tx: EntityManager, arrivals: readonly TallyChange[]): Promise<void> {
  const byHour = sums(arrivals, (one) => [one.fingerprint, one.queue, hourOf(one.lastSeenAt)]);
  const rows = byHour.map((one) => ({ ...one, hour: hourOf(one.lastSeenAt), arrived: one.total }));
  await bulkInsert(tx, {
    ...rowsOf(DeadLetterHourEntity, ['fingerprint', 'queue', 'hour', 'arrived'], rows),
    onConflict: `(fingerprint, queue, hour) DO UPDATE SET arrived = dead_letter_hours.arrived + excluded.arrived`,
  });
}

/** As an upsert of rows that exist: unlike an UPDATE with a join, it writes them in the order given. */
async function addToGroups(tx: EntityManager, changes: readonly TallyChange[]): Promise<void> {
  await bulkExecute(
    tx,
    {
      columns: { position: 'int', fingerprint: 'text', total: 'int', open: 'int', last_seen_at: 'int' },
      alias: 'v',
      rows: changes.map((one, position) => [position, one.fingerprint, one.total, one.open, one.lastSeenAt]),
    },
    (source) => `INSERT INTO dead_letter_groups
        (fingerprint, error_name, message, frame, first_seen_at, last_seen_at, total, open)
      SELECT g.fingerprint, g.error_name, g.message, g.frame, g.first_seen_at, v.last_seen_at, v.total, v.open
      FROM ${source} JOIN dead_letter_groups g ON g.fingerprint = v.fingerprint ORDER BY v.position
      ON CONFLICT (fingerprint) DO UPDATE SET ${added('dead_letter_groups')}`,
  );
}

const added = (table: string): string => `total = ${table}.total + excluded.total,
  open = ${table}.open + excluded.open,
  last_seen_at = CASE WHEN excluded.last_seen_at > ${table}.last_seen_at
    THEN excluded.last_seen_at ELSE ${table}.last_seen_at END`;

/** One change a key, in the order of the keys. */
function sums(changes: readonly TallyChange[], keyOf: (change: TallyChange) => unknown[]): TallyChange[] {
  const byKey = new Map<string, TallyChange>();
  for (const change of changes) {
    const key = JSON.stringify(keyOf(change));
    const sum = byKey.get(key) ?? { ...change, total: 0, open: 0, lastSeenAt: 0 };
    sum.total += change.total;
    sum.open += change.open;
    sum.lastSeenAt = Math.max(sum.lastSeenAt, change.lastSeenAt);
    byKey.set(key, sum);
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}

/** What a group's letters can be told apart by, besides `payload.<path>`. */
export const SPLIT_FIELDS = ['queue', 'name', 'reason', 'worker', 'message'] as const;

export type Placed = Pick<
  LetterDraft,
  'queue' | 'name' | 'reason' | 'lastWorkerId' | 'errorMessage' | 'payload'
>;

const MAX_VALUE = 200;

function valueOf(letter: Placed, field: string): string {
  const { lastWorkerId: worker, errorMessage: message, payload, ...named } = letter;
  const values: Partial<Record<string, string>> = { ...named, worker, message };
  const value = field.startsWith('payload.')
    ? scalarAt(JSON.parse(payload), field.slice('payload.'.length))
    : values[field];
  return (value ?? '').slice(0, MAX_VALUE);
}

/** The cause of those letters of another that have this letter's value in a field. */
export function partOf(cause: Cause, field: string, letter: Placed): Cause {
  const value = valueOf(letter, field);
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([cause.fingerprint, field, value]))
    .digest('hex')
    .slice(0, cause.fingerprint.length);
  // Everybody may see a group, but not what payloads hold.
  const shown = field.startsWith('payload.') ? `#${fingerprint.slice(0, 4)}` : `= ${value.slice(0, 60)}`;
  return { fingerprint, message: `${cause.message} [${field} ${shown}]`, frame: cause.frame };
}

const WAY = ['fingerprint', 'message', 'frame', 'mergedInto', 'splitBy'] as const;
type Way = Pick<DeadLetterGroupEntity, (typeof WAY)[number]>;
const MAX_STEPS = 8;

/**
 * Gives every draft the group that people want it in: causes may have been merged, or split by a field. The groups exist
 * afterwards and, on PostgreSQL, are locked, so that none is merged or split before the drafts are stored.
 */
export async function placed(tx: EntityManager, drafts: readonly LetterDraft[]): Promise<LetterDraft[]> {
  let current = [...drafts];
  for (let step = 0; step < MAX_STEPS; step++) {
    await ensureGroups(tx, current);
    const ways = await waysOf(tx, current);
    if (ways.size === 0) break;
    current = current.map((draft) => ({ ...draft, cause: nextOf(draft, ways) }));
  }
  return current;
}

async function waysOf(tx: EntityManager, drafts: readonly LetterDraft[]): Promise<Map<string, Way>> {
  const causes = [...new Set(drafts.map(({ cause }) => cause.fingerprint))];
  const rows = await bulkQuery<Way>(
    tx,
    { columns: { id: 'text' }, alias: 'v', rows: causes.map((id) => [id]) },
    (
      source,
    ) => `SELECT ${columnsOf<DeadLetterGroupEntity>(WAY, 'g')} FROM dead_letter_groups g JOIN ${source} ON v.id = g.fingerprint
      WHERE g.merged_into IS NOT NULL OR g.split_by IS NOT NULL`,
  );
  return new Map(rows.map((row) => [row.fingerprint, row]));
}

function nextOf(draft: LetterDraft, ways: ReadonlyMap<string, Way>): Cause {
  const way = ways.get(draft.cause.fingerprint);
  if (way?.mergedInto) return { ...draft.cause, fingerprint: way.mergedInto };
  return way?.splitBy ? partOf(way, way.splitBy, draft) : draft.cause;
}
