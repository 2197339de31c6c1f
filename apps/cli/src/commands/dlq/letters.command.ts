import type { Command } from 'commander';
import type { HistoryEntry, LetterDetail, LetterFilter, LetterSummary } from '#dlq-client';
import { CLI_EXIT } from '../../cli.errors.js';
import { acting, print, whole } from '../../command.js';
import { asking, withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { addFilterOptions, filterOf, wholeGroup } from '../../dlq/filter.js';
import { addPagingOptions, printPages, type PagingOptions } from '../../output/paged.js';
import { count, factLines, json, plain, plainLines, short, shortId, time } from '../../output/table.js';
import type { Columns } from '../../output/table.js';

type ListOptions = ConnectionOptions & LetterFilter & PagingOptions & { count?: boolean };

export const letterId = whole('<id>', 1, Number.MAX_SAFE_INTEGER);

export function addLetters(dlq: Command): void {
  const list = dlq
    .command('list')
    .summary('letters that match, newest first')
    .description('Letters that match every condition, newest first.')
    .option('--count', 'only tell how many');
  addPagingOptions(addFilterOptions(list)).action(acting(listLetters));
  dlq
    .command('show')
    .summary('one letter: payload, stack, attempts, history')
    .argument('<id>', 'the number of the letter', letterId)
    .action(asking((client, _, id: number) => client.letter(id), letterReport));
}

async function listLetters(options: ListOptions): Promise<void> {
  const found = await withDlqAdmin(options, async (client) => {
    const filter = await wholeGroup(client, filterOf(options));
    if (!options.count) return printPages(options, (page) => client.letters(filter, page), LETTER_COLUMNS);
    const counted = await client.count(filter);
    print(options, counted, ({ exact }) => `${count(counted.count)}${exact ? '' : ' or more'}\n`);
    return counted.count;
  });
  if (found === 0) process.exitCode = CLI_EXIT.nothing;
}

export const LETTER_COLUMNS: Columns<LetterSummary> = {
  ID: ({ id }) => String(id),
  FAILED: ({ failedAt }) => time(failedAt),
  'QUEUE:40': 'queue',
  STATUS: 'status',
  GROUP: ({ group }) => shortId(group),
  'ERROR:200': ({ errorName, errorMessage }) => `${errorName}: ${errorMessage}`,
};

const MAX_SHOWN = 20_000;
const MAX_INDENTED_DEPTH = 60;

/** One letter for a person: what failed, why, how often, with what. Everything it quotes is written inert. */
export function letterReport(letter: LetterDetail): string {
  return [
    facts(letter).trimEnd(),
    ...section('Faults by the contract of the queue', letter.faults.map(faultLine)),
    ...section('Masked as secrets; give them anew before requeueing', letter.redactedPaths.map(plain)),
    ...section('Payload', letter.hidden ? [HIDDEN] : [payloadText(letter.payload)]),
    ...section('Stack', letter.stack === null ? [] : [cut(plainLines(letter.stack))]),
    ...section('Attempts', letter.attempts.map(attemptLine)),
    ...section('History', letter.history.map(historyLine)),
    '',
  ].join('\n');
}

const HIDDEN = 'payload and stack are shown to operators; this key is a viewer';

function facts(letter: LetterDetail): string {
  const { replayCount, replayedAt } = letter;
  return factLines([
    ['Letter', `${letter.id} (${letter.status}, version ${letter.version})`],
    ['Queue', letter.queue],
    ['Job', `${letter.jobId} (${letter.name})`],
    ['Error', short(`${letter.errorName}: ${letter.errorMessage}`, 2_000)],
    ['Reason', letter.reason],
    ['Group', letter.group],
    ['Worker', letter.lastWorkerId],
    ['Enqueued', time(letter.enqueuedAt)],
    ['Failed', `${time(letter.failedAt)} after ${count(letter.attemptsMade)} attempts`],
    ['Requeued', `${count(replayCount)}${replayedAt === null ? '' : `, last ${time(replayedAt)}`}`],
    ['Note', letter.note],
    ['Trace', letter.trace && (letter.traceUrl ?? letter.trace)],
  ]);
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => line.replace(/^/gm, '  '))];
}

function faultLine({ path, found, rule }: LetterDetail['faults'][number]): string {
  return plain(`${path || 'payload'}: found ${found}, allowed is ${rule}`);
}

function attemptLine({ attempt, error, at }: LetterDetail['attempts'][number]): string {
  return `${attempt}  ${time(at)}  ${short(error, 200)}`;
}

function historyLine({ at, actor, event, details }: HistoryEntry): string {
  const note = typeof details.note === 'string' ? `: ${details.note}` : '';
  return `${time(at)}  ${short(`${event} by ${actor}${note}`, 200)}`;
}

function payloadText(payload: unknown): string {
  const compact = JSON.stringify(payload);
  // Indenting what is nested a thousand deep would print mostly spaces.
  return cut(depthOf(compact) > MAX_INDENTED_DEPTH ? plain(compact) : json(payload).trimEnd());
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)}\n… ${count(text.length - MAX_SHOWN)} characters more; -o json shows them all`;
}

/** How deep JSON text is nested at most; brackets in strings count too, which only makes it careful. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const char of text)
    if (char === '{' || char === '[') deepest = Math.max(deepest, ++depth);
    else if (char === '}' || char === ']') depth--;
  return deepest;
}
