import { FOLDER_AWAY } from '#database';
import type { BatchItemView, BatchView, ConcernedLetter, TimelineEntry } from '#dlq-client';
import type { BatchRow, FileRow } from './explanations.repository.js';

interface FileFacts {
  row: FileRow;
  items: readonly BatchItemView[];
  batches: readonly BatchRow[];
  letters: readonly ConcernedLetter[];
}

interface BatchFacts {
  row: BatchRow;
  event: BatchView['event'];
  items: readonly BatchItemView[];
  letters: readonly ConcernedLetter[];
}

/** Why a file is where it is, and what it waits for, in a sentence. */
export function explainFile(facts: FileFacts): string {
  const { row } = facts;
  if (row.removed) return 'It is gone: the last complete scan of its root did not find it.';
  return STANDS[row.status](facts);
}

const STANDS: Record<FileRow['status'], (facts: FileFacts) => string> = {
  pending: ({ row: { error, enqueuedAt } }) =>
    error === FOLDER_AWAY
      ? 'It waits for its folder, which is away.'
      : enqueuedAt === 0
        ? 'It is known and has no job yet; the scan, or recovery, gives it one.'
        : 'It waits in the queue for a batcher.',
  processing: ({ row: { worker } }) => `${worker ?? 'A batcher'} counts it and looks for a batch with room.`,
  batched: ({ row, items }) =>
    `It is in ${places(items, row.revision)}, of which not all are delivered; look at the batch for what it waits for.`,
  analyzed: ({ row, items }) =>
    items.some(({ revision, outcome }) => revision === row.revision && outcome === 'delivered')
      ? `It was delivered in ${places(items, row.revision)}.`
      : 'It has the content that was last delivered, and was not sent again.',
  skipped: ({ row: { skipReason, error, duplicateOf } }) => {
    const why =
      duplicateOf === null ? (skipReason ?? 'no reason recorded') : `the same content as file ${duplicateOf}`;
    return `It was skipped: ${why}${error ? ` (${error})` : ''}.`;
  },
  failed: ({ row: { error }, letters }) => {
    const letter = letters.find(({ status }) => status === 'open' || status === 'requeued');
    const next =
      letter === undefined
        ? 'It has no open letter; `millrace run --retry-failed` tries it again.'
        : letter.status === 'open'
          ? `Letter ${letter.id} is open: requeue it once the cause is mended.`
          : `Letter ${letter.id} was requeued; its job is on its way.`;
    return `It failed: ${error ?? letter?.errorMessage ?? 'no cause recorded'}. ${next}`;
  },
};

function places(items: readonly BatchItemView[], revision: number): string {
  const ids = [...new Set(items.filter((item) => item.revision === revision).map(({ batchId }) => batchId))];
  return ids.length === 1 ? `batch ${ids[0]}` : `${ids.length} batches`;
}

/** How far a batch is, and what it waits for. */
export function explainBatch({ row, event, items, letters }: BatchFacts): string {
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

export function fileTimeline({ row, items, batches }: FileFacts): TimelineEntry[] {
  const of = new Map(items.map((item) => [item.batchId, item]));
  return [
    { at: row.firstScannedAt, event: 'first seen by a scan' },
    ...(row.enqueuedAt > 0
      ? [{ at: row.enqueuedAt, event: `revision ${row.revision} queued for a batcher` }]
      : []),
    ...batches.flatMap((batch) => {
      const item = of.get(batch.id);
      const what =
        item && item.parts > 1 ? `revision ${item.revision}, in parts,` : `revision ${item?.revision ?? 1}`;
      return [
        { at: batch.createdAt, event: `${what} put in batch ${batch.id}` },
        ...batchTimeline(batch).slice(1),
      ];
    }),
    ...items.flatMap(({ outcome, endedAt, revision }) =>
      outcome === 'stale' && endedAt !== null
        ? [{ at: endedAt, event: `revision ${revision} had changed and was not sent` }]
        : [],
    ),
    { at: row.lastScannedAt, event: 'last seen by a scan' },
  ];
}

export function batchTimeline({
  id,
  createdBy,
  createdAt,
  publishedAt,
  completedAt,
}: BatchRow): TimelineEntry[] {
  return [
    { at: createdAt, event: `batch ${id} committed by ${createdBy}` },
    ...(publishedAt === null ? [] : [{ at: publishedAt, event: `batch ${id} published for an analyzer` }]),
    ...(completedAt === null ? [] : [{ at: completedAt, event: `batch ${id} delivered` }]),
  ];
}
