import type { Command } from 'commander';
import {
  BULK_KINDS,
  type BulkAction,
  type BulkKind,
  type BulkRequest,
  type DlqClient,
  type LetterFilter,
} from '#dlq-client';
import { CLI_EXIT, CliError } from '../../cli.errors.js';
import { changeMany, type BulkOptions } from '../../dlq/bulk.js';
import { ACTION_HEADER, actionRow, outcomeLine } from '../../dlq/bulk-report.js';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { addFilterOptions, filterOf, type FilterOptions } from '../../dlq/filter.js';
import { wholeGroup, wholeId } from '../../dlq/whole-id.js';
import { readAll } from '../../dlq/key-source.js';
import { addPagingOptions, pages, printPages, type PagingOptions } from '../../output/paged.js';
import { json, plain, several } from '../../output/table.js';
import { wholeNumber } from '../../output/whole-number.js';
import { letterId } from './letters.command.js';

interface ChangeOptions extends ConnectionOptions, FilterOptions, BulkOptions {
  rps?: number;
  canary?: true | number[];
  note?: string;
}

const SUMMARY: Record<BulkKind, string> = {
  requeue: 'send letters to their queues again, with fresh attempts',
  discard: 'give letters up; they can be restored',
  restore: 'open discarded letters again',
};

export function addChanges(dlq: Command): void {
  for (const kind of BULK_KINDS) addChange(dlq, kind);
  const actions = dlq
    .command('actions')
    .summary('bulk actions, newest first; or one of them')
    .argument('[id]', `only this one: ${ACTION}`);
  addPagingOptions(actions).action((id: string | undefined, _: unknown, command: Command) =>
    showActions(id, command.optsWithGlobals<ConnectionOptions & PagingOptions>()),
  );
  const NOTED = ['--note <text>', 'why; kept in the audit log'] as const;
  addActionChange(dlq, 'approve', (client, id, note) => client.approve(id, note))
    .summary('let a bulk discard run that another asked for and that waits for a second person')
    .option(...NOTED);
  addActionChange(dlq, 'continue', (client, id, note) => client.continueBulk(id, note))
    .summary('go on, as another action, with what a stopped or aborted one has left')
    .option(...NOTED);
  addActionChange(dlq, 'abort', (client, id) => client.abort(id)).summary(
    'stop a bulk action; what it has done stays done',
  );
}

const ACTION = 'the action, or how its id begins';

function addActionChange(
  dlq: Command,
  name: string,
  change: (client: DlqClient, id: string, note?: string) => Promise<BulkAction>,
): Command {
  return dlq
    .command(name)
    .argument('<id>', ACTION)
    .action(async (begun: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ConnectionOptions & { note?: string }>();
      const action = await withDlqAdmin(options, async (client) =>
        change(client, await actionId(client, begun), options.note),
      );
      process.stdout.write(options.output === 'json' ? json(action) : said(action));
    });
}

const actionId = (client: DlqClient, begun: string): Promise<string> =>
  wholeId('bulk action', begun, (page) => client.bulkActions(page));

/** What an action came to, or where to follow it. */
function said(action: BulkAction): string {
  if (action.status !== 'frozen' && action.status !== 'running') return `${outcomeLine(action)}\n`;
  return `${several(action.total, 'letter')} taken over; follow it with \`millrace dlq actions ${plain(action.id)}\`\n`;
}

function addChange(dlq: Command, kind: BulkKind): void {
  const command = dlq
    .command(kind)
    .summary(SUMMARY[kind])
    .description(
      `${SUMMARY[kind]}. Letters are named by id (\`-\` reads ids from standard input), or chosen by conditions, of which
every one must hold; then the choice is shown and confirmed, and letters that arrive later are not touched.`,
    )
    .argument('[ids...]', 'numbers of letters')
    .option('--dry-run', 'only show how many there are, of which causes, and which would be skipped')
    .option('-y, --yes', 'do not ask')
    .option('--note <text>', 'why; kept in history and audit log')
    .option('--rps <n>', 'letters a second at most', (text) => wholeNumber('--rps', text, 1, 100_000));
  if (kind === 'requeue')
    command.option(
      '--canary [sizes]',
      'small steps first, such as 1,10,100; stops when one fails again',
      stepSizes,
    );
  addFilterOptions(command).action(async (ids: string[], _: unknown, self: Command) => {
    process.exitCode = await change(kind, ids, self.optsWithGlobals<ChangeOptions>());
  });
}

function stepSizes(text: string): number[] {
  return text.split(',').map((size) => wholeNumber('--canary', size, 1, 100_000));
}

async function change(kind: BulkKind, named: string[], options: ChangeOptions): Promise<number> {
  const filter = filterOf(options);
  const ids = await idsOf(named, options);
  requireOneChoice(kind, ids, filter);
  const [only] = ids;
  const simple = ids.length === 1 && !options.dryRun && !options.canary;
  return withDlqAdmin(options, async (client) =>
    simple && only !== undefined
      ? changeOne(client, kind, only, options)
      : changeMany(client, requestOf(kind, ids, await wholeGroup(client, filter), options), options),
  );
}

async function idsOf(named: readonly string[], { keyStdin }: ConnectionOptions): Promise<number[]> {
  if (!named.includes('-')) return named.map(letterId);
  if (keyStdin)
    throw new CliError(
      'standard input cannot hold both key and ids; use --key-file or MILLRACE_DLQ_API_KEY',
      CLI_EXIT.usage,
    );
  const read = (await readAll(process.stdin)).split(/\s+/).filter(Boolean);
  return [...named.filter((id) => id !== '-'), ...read].map(letterId);
}

function requireOneChoice(kind: BulkKind, ids: readonly number[], filter: LetterFilter): void {
  const conditions = Object.keys(filter).length;
  if (ids.length > 0 && conditions > 0)
    throw new CliError('name letters by id, or choose them by conditions, not both', CLI_EXIT.usage);
  if (ids.length === 0 && conditions === 0)
    throw new CliError(
      `which letters? Give ids, --group or other conditions; --status ${originStatus(kind)} chooses all that can be`,
      CLI_EXIT.usage,
    );
}

/** The state from which letters can be changed so. */
function originStatus(kind: BulkKind): 'open' | 'discarded' {
  return kind === 'restore' ? 'discarded' : 'open';
}

function requestOf(
  kind: BulkKind,
  ids: number[],
  filter: LetterFilter,
  { rps, canary, note }: ChangeOptions,
): BulkRequest {
  return {
    kind,
    ...(ids.length > 0 ? { ids } : { filter: { status: originStatus(kind), ...filter } }),
    ...(rps !== undefined && { ratePerSecond: rps }),
    ...(canary !== undefined && { canary: canary === true ? {} : { steps: canary } }),
    ...(note !== undefined && { note }),
  };
}

async function changeOne(
  client: DlqClient,
  kind: BulkKind,
  id: number,
  { note, output }: ChangeOptions,
): Promise<number> {
  const letter = await client.change(id, kind, note);
  process.stdout.write(
    output === 'json' ? json(letter) : `letter ${letter.id} is ${letter.status} (${plain(letter.queue)})\n`,
  );
  return CLI_EXIT.ok;
}

async function showActions(
  id: string | undefined,
  options: ConnectionOptions & PagingOptions,
): Promise<void> {
  await withDlqAdmin(options, async (client) => {
    if (id === undefined)
      return void (await printPages(
        options.output,
        pages((page) => client.bulkActions(page), options),
        { header: ACTION_HEADER, row: actionRow },
      ));
    const action = await client.bulkAction(await actionId(client, id));
    process.stdout.write(options.output === 'json' ? json(action) : `${outcomeLine(action)}\n`);
  });
}
