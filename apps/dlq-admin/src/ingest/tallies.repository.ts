import {
  bulkExecute,
  bulkInsert,
  DeadLetterGroupEntity,
  DeadLetterTallyEntity,
  rowsOf,
  type EntityManager,
} from '#database';
import type { LetterDraft } from './letter-draft.js';

type Failure = Pick<LetterDraft, 'cause' | 'errorName' | 'deadLetteredAt'>;

/** A change to what is counted of one cause, queue and worker; `lastSeenAt` is 0 when no letter was seen. */
export type TallyChange = DeadLetterTallyEntity;

const GROUP = [
  'fingerprint',
  'errorName',
  'message',
  'frame',
  'firstSeenAt',
  'lastSeenAt',
  'total',
  'open',
] as const satisfies (keyof DeadLetterGroupEntity)[];

/** Gives every cause a group that counts nothing yet; one that is there learns of an older letter. */
export async function ensureGroups(tx: EntityManager, drafts: readonly Failure[]): Promise<void> {
  // The oldest of each cause: a backlog does not come in the order in which it failed.
  const groups = new Map(
    [...drafts]
      .sort((a, b) => b.deadLetteredAt - a.deadLetteredAt)
      .map((draft) => [draft.cause.fingerprint, draft]),
  );
  const rows = [...groups.values()]
    .sort((a, b) => (a.cause.fingerprint < b.cause.fingerprint ? -1 : 1))
    .map(({ cause, errorName, deadLetteredAt: at }) => ({
      ...{ ...cause, errorName, firstSeenAt: at, lastSeenAt: at, total: 0, open: 0 },
    }));
  await bulkInsert(tx, {
    ...rowsOf(DeadLetterGroupEntity, GROUP, rows),
    onConflict: `(fingerprint) DO UPDATE SET first_seen_at = excluded.first_seen_at
      WHERE excluded.first_seen_at < dead_letter_groups.first_seen_at`,
  });
}

/**
 * Adds to the counts of groups and tallies in the caller's transaction: lists then read counts instead of counting.
 * Rows are written in one order, so that two writers never wait for each other in a circle. Groups must exist.
 */
export async function tally(tx: EntityManager, changes: readonly TallyChange[]): Promise<void> {
  await addToGroups(
    tx,
    sums(changes, (one) => one.fingerprint),
  );
  const tallies = sums(changes, ({ fingerprint, queue, worker }) =>
    JSON.stringify([fingerprint, queue, worker]),
  );
  await bulkInsert(tx, {
    ...rowsOf(
      DeadLetterTallyEntity,
      ['fingerprint', 'queue', 'worker', 'total', 'open', 'lastSeenAt'],
      tallies,
    ),
    onConflict: `(fingerprint, queue, worker) DO UPDATE SET ${added('dead_letter_tallies')}`,
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
export function sums(changes: readonly TallyChange[], keyOf: (change: TallyChange) => string): TallyChange[] {
  const byKey = new Map<string, TallyChange>();
  for (const change of changes) {
    const key = keyOf(change);
    const sum = byKey.get(key) ?? { ...change, total: 0, open: 0, lastSeenAt: 0 };
    sum.total += change.total;
    sum.open += change.open;
    sum.lastSeenAt = Math.max(sum.lastSeenAt, change.lastSeenAt);
    byKey.set(key, sum);
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
}
