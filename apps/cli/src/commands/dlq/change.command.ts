import type { Command } from 'commander';
import { BULK_KINDS } from '#dlq-client';
import type { BulkAction, BulkKind, DlqClient, LetterFilter } from '#dlq-client';
import { UsageError } from '../../cli.errors.js';
import { acting, print, whole } from '../../command.js';
import { ACTION_COLUMNS, changeMany, isRunning, outcomeLine, type BulkOptions } from '../../dlq/bulk.js';
import { asking, NOTE, readInput, withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { addFilterOptions, filterOf, wholeGroup, wholeId } from '../../dlq/filter.js';
import { addPagingOptions, printPages, type PagingOptions } from '../../output/paged.js';
import { plain, several } from '../../output/table.js';
import { letterId } from './letters.command.js';

type ChangeOptions = ConnectionOptions &
  LetterFilter &
  BulkOptions & { rps?: number; canary?: true | number[] };

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
  addPagingOptions(actions).action(acting(showActions));
  for (const [name, method, summary] of ACTION_CHANGES) {
    const command = dlq.command(name).summary(summary).argument('<id>', ACTION);
    if (name !== 'abort') command.option(...NOTE);
    command.action(
      asking(async (client, { note }, begun) => client[method](await actionId(client, begun), note), said),
    );
  }
}

const ACTION = 'the action, or how its id begins';
const ACTION_CHANGES = [
  ['approve', 'approve', 'let a bulk discard run that another asked for and that waits for a second person'],
  ['continue', 'continueBulk', 'go on, as another action, with what a stopped or aborted one has left'],
  ['abort', 'abort', 'stop a bulk action; what it has done stays done'],
] as const;

const actionId = (client: DlqClient, begun: string): Promise<string> =>
  wholeId('bulk action', begun, (page) => client.bulkActions(page));

/** What an action came to, or where to follow it. */
function said(action: BulkAction): string {
  if (!isRunning(action)) return `${outcomeLine(action)}\n`;
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
    .option('--rps <n>', 'letters a second at most', whole('--rps', 1, 100_000));
  if (kind === 'requeue')
    command.option(
      '--canary [sizes]',
      'small steps first, such as 1,10,100; stops when one fails again',
      (text) => text.split(',').map(whole('--canary', 1, 100_000)),
    );
  addFilterOptions(command).action(
    acting((options: ChangeOptions, ids: string[]) => change(kind, ids, options)),
  );
}

async function change(kind: BulkKind, named: string[], options: ChangeOptions): Promise<void> {
  const filter = filterOf(options);
  const ids = await idsOf(named, options);
  const [only] = ids;
  const conditions = Object.keys(filter).length;
  // The state from which letters can be changed so.
  const status = kind === 'restore' ? 'discarded' : 'open';
  if (only !== undefined && conditions > 0)
    throw new UsageError('name letters by id, or choose them by conditions, not both');
  if (only === undefined && conditions === 0)
    throw new UsageError(
      `which letters? Give ids, --group or other conditions; --status ${status} chooses all that can be`,
    );
  await withDlqAdmin(options, async (client) => {
    if (ids.length === 1 && only !== undefined && !options.dryRun && !options.canary) {
      const letter = await client.change(only, kind, options.note);
      return print(options, letter, ({ queue }) => `letter ${only} is ${letter.status} (${plain(queue)})\n`);
    }
    const { rps: ratePerSecond, canary: steps, note } = options;
    const canary = steps === true ? {} : steps && { steps };
    const chosen = { status, ...(await wholeGroup(client, filter)) } as const;
    const which = ids.length > 0 ? { ids } : { filter: chosen };
    process.exitCode = await changeMany(client, { kind, ...which, ratePerSecond, canary, note }, options);
  });
}

async function idsOf(named: readonly string[], options: ConnectionOptions): Promise<number[]> {
  const read = named.includes('-') ? (await readInput('ids', options)).split(/\s+/).filter(Boolean) : [];
  return [...named.filter((id) => id !== '-'), ...read].map(letterId);
}

async function showActions(options: ConnectionOptions & PagingOptions, id?: string): Promise<void> {
  await withDlqAdmin(options, async (client) => {
    if (id === undefined)
      return void (await printPages(options, (page) => client.bulkActions(page), ACTION_COLUMNS));
    const action = await client.bulkAction(await actionId(client, id));
    print(options, action, () => `${outcomeLine(action)}\n`);
  });
}
