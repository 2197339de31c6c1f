import { createHash } from 'node:crypto';
import { bulkQuery, columnsOf, type DeadLetterGroupEntity, type EntityManager } from '#database';
import { scalarAt } from '../letters/criteria.js';
import type { Cause } from './fingerprint.js';
import type { LetterDraft } from './letter-draft.js';
import { ensureGroups } from './tallies.repository.js';

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

type Way = Pick<DeadLetterGroupEntity, 'fingerprint' | 'message' | 'frame' | 'mergedInto' | 'splitBy'>;
const WAY = columnsOf<DeadLetterGroupEntity>(
  ['fingerprint', 'message', 'frame', 'mergedInto', 'splitBy'],
  'g',
);
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
    (source) => `SELECT ${WAY} FROM dead_letter_groups g JOIN ${source} ON v.id = g.fingerprint
      WHERE g.merged_into IS NOT NULL OR g.split_by IS NOT NULL`,
  );
  return new Map(rows.map((row) => [row.fingerprint, row]));
}

function nextOf(draft: LetterDraft, ways: ReadonlyMap<string, Way>): Cause {
  const way = ways.get(draft.cause.fingerprint);
  if (way?.mergedInto) return { ...draft.cause, fingerprint: way.mergedInto };
  return way?.splitBy ? partOf(way, way.splitBy, draft) : draft.cause;
}
