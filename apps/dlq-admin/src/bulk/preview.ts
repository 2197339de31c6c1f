import type { DeadLetterGroupEntity } from '#database';
import type { BulkKind, BulkPreview } from '#dlq-client';
import { refusalOf } from '../letters/letter-changes.repository.js';
import type { AlikeLetters } from './selections.repository.js';

const MAX_REASONS = 50;

/** What a bulk action would do with letters that stand as counted. Payloads are looked at only when it runs. */
export function previewOf(
  kind: BulkKind,
  rows: readonly AlikeLetters[],
  groups: readonly DeadLetterGroupEntity[],
  maxReplays: number,
): Omit<BulkPreview, 'dryRun' | 'confirm'> {
  const total = rows.reduce((sum, { count }) => sum + count, 0);
  const outcomes = counted(rows, (row) => refusalOf(kind, row, maxReplays) ?? '');
  const skipped = outcomes.filter(([reason]) => reason !== '');
  return {
    total,
    eligible: skipped.reduce((left, [, count]) => left - count, total),
    skipped: skipped.map(([reason, count]) => ({ reason, count })),
    reasons: counted(rows, ({ group }) => group)
      .slice(0, MAX_REASONS)
      .map(([id, count]) => {
        const { errorName = 'unknown', message = '' } =
          groups.find(({ fingerprint }) => fingerprint === id) ?? {};
        return { group: id, errorName, message, count };
      }),
    queues: counted(rows, ({ queue }) => queue).map(([queue, count]) => ({ queue, count })),
  };
}

/** How many letters there are of each key, the most first. */
function counted(rows: readonly AlikeLetters[], keyOf: (row: AlikeLetters) => string): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + row.count);
  return [...counts].sort(([, a], [, b]) => b - a);
}
