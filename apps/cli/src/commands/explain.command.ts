import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { BatchItemView, BatchView, ConcernedLetter, FileView } from '#dlq-client';
import type { Explanations } from '#overview';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';
import { bytes, count, plain, several, tableOf, time, type Columns } from '../output/table.js';
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

const LETTERS: Columns<ConcernedLetter> = {
  LETTER: 'id',
  STATUS: 'status',
  ATTEMPTS: ({ attempts }) => attempts.length,
  'ERROR:80': ({ errorName, errorMessage }) => `${errorName}: ${errorMessage}`,
};

/** A file or a batch and its story, for a terminal. */
function explanation(found: FileView | BatchView): string {
  const { items, letters, timeline } = found;
  const { title, facts, columns, total } = 'path' in found ? ofFile(found) : ofBatch(found);
  return [
    `${title}\n${plain(found.explanation)}\n`,
    `${facts}\n`,
    items.length > 0 ? tableOf(items.slice(0, MAX_LISTED), columns) : '',
    total > MAX_LISTED ? `… and ${count(total - MAX_LISTED)} more (-o json has them)\n` : '',
    letters.length > 0 ? tableOf(letters, LETTERS) : '',
    timeline.map(({ at, event }) => `${time(at)}  ${plain(event)}\n`).join(''),
  ]
    .filter(Boolean)
    .join('\n');
}

type ItemColumns = Columns<BatchItemView>;

const PART: ItemColumns = { PART: ({ part, parts }) => `${part} of ${parts}`, TOKENS: 'tokens' };
const OUTCOME: ItemColumns = { OUTCOME: ({ outcome }) => outcome ?? 'on its way' };

function ofFile({ id, path, revision, status, size, tokens, items }: FileView) {
  const counted = tokens === null ? '' : `, ${several(tokens, 'token')}`;
  const facts = `File ${id}, revision ${revision}, ${status}, ${bytes(size)}${counted}`;
  const columns: ItemColumns = { REVISION: 'revision', ...PART, BATCH: 'batchId', ...OUTCOME };
  return { title: plain(path), facts, columns, total: items.length };
}

function ofBatch({ id, totalTokens, maxTokens, itemCount: total }: BatchView) {
  const full = Math.round((totalTokens / maxTokens) * 100);
  const fill = `${several(totalTokens, 'token')} of ${count(maxTokens)} (${full} %)`;
  const columns: ItemColumns = { FILE: 'fileId', ...PART, ...OUTCOME, PATH: 'path' };
  return { title: `Batch ${id}`, facts: `${several(total, 'part')} of files, ${fill}`, columns, total };
}
