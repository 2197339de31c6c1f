import { FOLDER_AWAY } from '#database';
import type { BatchItemView, BatchView, ConcernedLetter, TimelineEntry } from '#dlq-client';
import type { BatchRow, FileRow } from './explanations.repository.js';

type Items = readonly BatchItemView[];
type Letters = readonly ConcernedLetter[];

/** Why a file is where it is, and what it waits for, in a sentence. */
export function explainFile(row: FileRow, items: Items, letters: Letters): string {
  if (row.removed) return 'It is gone: the last complete scan of its root did not find it.';
  return STANDS[row.status](row, items, letters);
}

const STANDS: Record<FileRow['status'], typeof explainFile> = {
  pending: ({ error, enqueuedAt }) => {
    if (error === FOLDER_AWAY) return 'It waits for its folder, which is away.';
    return enqueuedAt === 0
      ? 'It is known and has no job yet; the scan, or recovery, gives it one.'
      : 'It waits in the queue for a batcher.';
  },
  processing: ({ worker }) => `${worker ?? 'A batcher'} counts it and looks for a batch with room.`,
  batched: (row, items) =>
    `It is in ${places(items, row.revision)}, of which not all are delivered; look at the batch for what it waits for.`,
  analyzed: (row, items) =>
    items.some(({ revision, outcome }) => revision === row.revision && outcome === 'delivered')
      ? `It was delivered in ${places(items, row.revision)}.`
      : 'It has the content that was last delivered, and was not sent again.',
  skipped: ({ skipReason, error, duplicateOf }) => {
    const why =
      duplicateOf === null ? (skipReason ?? 'no reason recorded') : `the same content as file ${duplicateOf}`;
    return `It was skipped: ${why}${error ? ` (${error})` : ''}.`;
  },
  failed: ({ error }, _, letters) => {
    const letter = letters.find(({ status }) => status === 'open' || status === 'requeued');
    const failed = `It failed: ${error ?? letter?.errorMessage ?? 'no cause recorded'}.`;
    if (!letter) return `${failed} It has no open letter; \`millrace run --retry-failed\` tries it again.`;
    return letter.status === 'open'
      ? `${failed} Letter ${letter.id} is open: requeue it once the cause is mended.`
      : `${failed} Letter ${letter.id} was requeued; its job is on its way.`;
  },
};

function places(items: Items, revision: number): string {
  const ids = [...new Set(items.filter((item) => item.revision === revision).map(({ batchId }) => batchId))];
  return ids.length === 1 ? `batch ${ids[0]}` : `${ids.length} batches`;
}

/** How far a batch is, and what it waits for. */
export function explainBatch(
  row: BatchRow,
  event: BatchView['event'] | undefined,
  items: Items,
  letters: Letters,
): string {
  const stale = items.filter(({ outcome }) => outcome === 'stale').length;
  if (row.completedAt !== null)
    return stale === 0
      ? 'It was delivered.'
      : `It was delivered, without ${stale} that had changed since they were counted.`;
  const letter = letters.find(({ status }) => status === 'open');
  if (letter) return `It was refused: ${letter.errorMessage} Letter ${letter.id} is open.`;
  if (letters.some(({ status }) => status === 'requeued')) return 'It was requeued; its job is on its way.';
  if (letters.some(({ status }) => status === 'discarded'))
    return 'It was refused, and its letter discarded.';
  if (event?.status === 'DEAD')
    return `Its event could not be published: ${event.lastError ?? 'no cause recorded'}.`;
  return event?.status === 'PENDING'
    ? 'Its event waits for a publisher.'
    : 'It waits in the queue for an analyzer, or is being delivered.';
}

export function fileTimeline(row: FileRow, items: Items, batches: readonly BatchRow[]): TimelineEntry[] {
  const of = new Map(items.map((item) => [item.batchId, item]));
  return [
    { at: row.firstScannedAt, event: 'first seen by a scan' },
    ...when(row.enqueuedAt || null, `revision ${row.revision} queued for a batcher`),
    ...batches.flatMap((batch) => {
      const { revision = 1, parts = 1 } = of.get(batch.id) ?? {};
      const what = `revision ${revision}${parts > 1 ? ', in parts,' : ''} put in batch ${batch.id}`;
      return [{ at: batch.createdAt, event: what }, ...batchTimeline(batch).slice(1)];
    }),
    ...items.flatMap(({ outcome, endedAt, revision }) =>
      when(outcome === 'stale' ? endedAt : null, `revision ${revision} had changed and was not sent`),
    ),
    { at: row.lastScannedAt, event: 'last seen by a scan' },
  ];
}

export const batchTimeline = ({ id, createdBy, createdAt, publishedAt, completedAt }: BatchRow) => [
  { at: createdAt, event: `batch ${id} committed by ${createdBy}` },
  ...when(publishedAt, `batch ${id} published for an analyzer`),
  ...when(completedAt, `batch ${id} delivered`),
];

/** An entry for what has a time, which it has once it has happened. */
export const when = (at: number | null | undefined, event: string): TimelineEntry[] =>
  at === null || at === undefined ? [] : [{ at, event }];
