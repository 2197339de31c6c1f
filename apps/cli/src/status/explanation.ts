import type { BatchItemView, BatchView, FileView } from '#dlq-client';
import { bytes, count, plain, several, tableOf, time } from '../output/table.js';

const MAX_LISTED = 50;

/** A file or a batch and its story, for a terminal. */
export function explanation(found: FileView | BatchView): string {
  return 'path' in found ? ofFile(found) : ofBatch(found);
}

function ofFile(file: FileView): string {
  const { tokens, items } = file;
  const counted = tokens === null ? '' : `, ${several(tokens, 'token')}`;
  const columns = {
    REVISION: 'revision',
    PART: partOf,
    TOKENS: 'tokens',
    BATCH: 'batchId',
    OUTCOME: outcomeOf,
  } as const;
  return joined([
    `${plain(file.path)}\n${plain(file.explanation)}\n`,
    `File ${file.id}, revision ${file.revision}, ${file.status}, ${bytes(file.size)}${counted}\n`,
    items.length > 0 ? tableOf(items.slice(0, MAX_LISTED), columns) : '',
    more(items.length),
    ending(file),
  ]);
}

function ofBatch(batch: BatchView): string {
  const { totalTokens, maxTokens, itemCount, items } = batch;
  const full = Math.round((totalTokens / maxTokens) * 100);
  const columns = {
    FILE: 'fileId',
    PART: partOf,
    TOKENS: 'tokens',
    OUTCOME: outcomeOf,
    PATH: 'path',
  } as const;
  return joined([
    `Batch ${batch.id}\n${plain(batch.explanation)}\n`,
    `${several(itemCount, 'part')} of files, ${several(totalTokens, 'token')} of ${count(maxTokens)} (${full} %)\n`,
    tableOf(items.slice(0, MAX_LISTED), columns),
    more(itemCount),
    ending(batch),
  ]);
}

const joined = (parts: readonly string[]): string => parts.filter(Boolean).join('\n');

const partOf = ({ part, parts }: BatchItemView): string => `${part} of ${parts}`;

const outcomeOf = ({ outcome }: BatchItemView): string => outcome ?? 'on its way';

const more = (total: number): string =>
  total > MAX_LISTED ? `… and ${count(total - MAX_LISTED)} more (-o json has them)\n` : '';

function ending({ letters, timeline }: FileView | BatchView): string {
  const table = tableOf(letters, {
    LETTER: 'id',
    STATUS: 'status',
    ATTEMPTS: ({ attempts }) => attempts.length,
    'ERROR:80': ({ errorName, errorMessage }) => `${errorName}: ${errorMessage}`,
  });
  const events = timeline.map(({ at, event }) => `${time(at)}  ${plain(event)}\n`).join('');
  return letters.length > 0 ? `${table}\n${events}` : events;
}
