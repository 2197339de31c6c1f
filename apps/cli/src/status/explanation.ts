import type { BatchItemView, BatchView, FileView } from '#dlq-client';
import { bytes, count, plain, short, several, table, time } from '../output/table.js';

const MAX_LISTED = 50;

/** A file or a batch and its story, for a terminal. */
export function explanation(found: FileView | BatchView): string {
  return 'path' in found ? ofFile(found) : ofBatch(found);
}

function ofFile(file: FileView): string {
  const counted = file.tokens === null ? '' : `, ${several(file.tokens, 'token')}`;
  return [
    `${plain(file.path)}\n${plain(file.explanation)}\n`,
    `File ${file.id}, revision ${file.revision}, ${file.status}, ${bytes(file.size)}${counted}\n`,
    file.items.length > 0
      ? table(
          ['REVISION', 'PART', 'TOKENS', 'BATCH', 'OUTCOME'],
          file.items
            .slice(0, MAX_LISTED)
            .map((item) => [
              item.revision,
              partOf(item),
              item.tokens,
              item.batchId,
              item.outcome ?? 'on its way',
            ]),
        )
      : '',
    more(file.items.length),
    ending(file),
  ]
    .filter(Boolean)
    .join('\n');
}

function ofBatch(batch: BatchView): string {
  const full = Math.round((batch.totalTokens / batch.maxTokens) * 100);
  return [
    `Batch ${batch.id}\n${plain(batch.explanation)}\n`,
    `${several(batch.itemCount, 'part')} of files, ${several(batch.totalTokens, 'token')} of ${count(batch.maxTokens)} (${full} %)\n`,
    table(
      ['FILE', 'PART', 'TOKENS', 'OUTCOME', 'PATH'],
      batch.items
        .slice(0, MAX_LISTED)
        .map((item) => [item.fileId, partOf(item), item.tokens, item.outcome ?? 'on its way', item.path]),
    ),
    more(batch.itemCount),
    ending(batch),
  ]
    .filter(Boolean)
    .join('\n');
}

const partOf = ({ part, parts }: BatchItemView): string => `${part} of ${parts}`;

const more = (total: number): string =>
  total > MAX_LISTED ? `… and ${count(total - MAX_LISTED)} more (-o json has them)\n` : '';

function ending({ letters, timeline }: FileView | BatchView): string {
  const told = letters.map(({ id, status, errorName, errorMessage, attempts }) => [
    ...[id, status, attempts.length, short(`${errorName}: ${errorMessage}`, 80)],
  ]);
  const parts = letters.length > 0 ? [table(['LETTER', 'STATUS', 'ATTEMPTS', 'ERROR'], told)] : [];
  return [...parts, timeline.map(({ at, event }) => `${time(at)}  ${plain(event)}\n`).join('')].join('\n');
}
