import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { BatchItemView, BatchView, FileView } from '#dlq-client';
import type { Explanations } from '#overview';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';
import { bytes, count, plain, several, tableOf, time } from '../output/table.js';
import { looking, type GlobalOptions, type Looked } from '../settings.js';

export function addExplain(program: Command): void {
  program
    .command('explain')
    .argument('<what>', 'the path of a file, its id, or the id of a batch or its first letters')
    .summary('how a file or a batch came where it is: batches, attempts, letters, times')
    .description(
      `Tells from the tables alone, so that no server has to run.
Exit codes: 0 told, 64 wrong usage, 66 no database, or nothing of that name in it.`,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  millrace explain src/main.ts\n  millrace explain 4711\n  millrace explain 3f2504e0',
    )
    .action(looking(find, explanation));
}

const BATCH = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/;

async function find({ database }: Looked, _: GlobalOptions, what: string): Promise<FileView | BatchView> {
  const explanations = new (await import('#overview')).Explanations(database);
  // A path may look like an id: the file that lies there is meant, and `./4711` is always a path.
  const byPath = await explanations.fileAt(await realPath(what));
  const byId = !byPath && /^\d{1,15}$/.test(what) ? await explanations.file(Number(what)) : undefined;
  const found = byPath ?? byId ?? (BATCH.test(what) ? await batchLike(explanations, what) : undefined);
  if (found) return found;
  throw new CliError(
    `nothing is known of ${what}: no scan has seen a file at ${resolve(what)}, and no file or batch has that id`,
    CLI_EXIT.noInput,
  );
}

/** As a scan has spelt it: links on the way to it are resolved, it itself may be one. */
async function realPath(path: string): Promise<string> {
  const folder = dirname(resolve(path));
  return join(await realpath(folder).catch(() => folder), basename(resolve(path)));
}

async function batchLike(explanations: Explanations, prefix: string): Promise<BatchView | undefined> {
  const [id, other] = await explanations.batchesLike(prefix);
  if (other !== undefined) throw new UsageError(`several batches begin with ${prefix}; give more of the id`);
  return id === undefined ? undefined : explanations.batch(id);
}

const MAX_LISTED = 50;

/** A file or a batch and its story, for a terminal. */
function explanation(found: FileView | BatchView): string {
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
