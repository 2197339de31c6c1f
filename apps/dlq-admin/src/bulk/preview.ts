import type { BulkKind, BulkPreview } from '#dlq-client';
import type { PreviewRow } from './selections.repository.js';

const MAX_REASONS = 50;

/** What a bulk action would do with letters that stand as counted. Payloads are looked at only when it runs. */
export function previewOf(
  kind: BulkKind,
  rows: readonly PreviewRow[],
  groups: readonly { id: string; errorName: string; message: string }[],
  maxReplays: number,
): Omit<BulkPreview, 'dryRun' | 'confirm'> {
  const total = sum(rows);
  const skips = rows.flatMap((row) => {
    const reason = skipReason(kind, row, maxReplays);
    return reason ? [{ key: reason, count: row.count }] : [];
  });
  const byGroup = counted(rows.map(({ group, count }) => ({ key: group, count }))).slice(0, MAX_REASONS);
  return {
    total,
    eligible: total - sum(skips),
    skipped: counted(skips).map(({ key, count }) => ({ reason: key, count })),
    reasons: byGroup.map(({ key, count }) => {
      const group = groups.find(({ id }) => id === key);
      return { group: key, errorName: group?.errorName ?? 'unknown', message: group?.message ?? '', count };
    }),
    queues: counted(rows.map(({ queue, count }) => ({ key: queue, count }))).map(({ key, count }) => ({
      queue: key,
      count,
    })),
  };
}

function skipReason(kind: BulkKind, row: PreviewRow, maxReplays: number): string | null {
  if (kind === 'restore') return row.status === 'discarded' ? null : 'not-discarded';
  if (row.status !== 'open') return 'not-open';
  if (kind === 'discard') return null;
  if (row.replays >= maxReplays) return 'replay-limit';
  return row.redacted ? 'redacted-payload' : null;
}

const sum = (rows: readonly { count: number }[]): number =>
  rows.reduce((total, { count }) => total + count, 0);

function counted(rows: readonly { key: string; count: number }[]): { key: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { key, count } of rows) counts.set(key, (counts.get(key) ?? 0) + count);
  return [...counts].map(([key, count]) => ({ key, count })).sort((a, b) => b.count - a.count);
}
