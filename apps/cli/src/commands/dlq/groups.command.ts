import type { Command } from 'commander';
import type { GroupChange } from '#dlq-client';
import { CLI_EXIT, CliError } from '../../cli.errors.js';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { spanOf } from '../../dlq/filter.js';
import { GROUP_HEADER, groupReport, groupRow } from '../../dlq/overview-report.js';
import { groupId } from '../../dlq/whole-id.js';
import { addPagingOptions, pages, printPages, type PagingOptions } from '../../output/paged.js';
import { json, table } from '../../output/table.js';

type ListOptions = ConnectionOptions & PagingOptions & { any?: boolean };

interface GroupOptions extends ConnectionOptions {
  note?: string;
  owner?: string;
  mute?: string;
  unmute?: boolean;
}

const ID = 'the group, or how its id begins';

export function addGroups(dlq: Command): void {
  const groups = dlq
    .command('groups')
    .summary('causes of failure, the largest first')
    .option('--any', 'also those without an open letter');
  addPagingOptions(groups).action((_: unknown, command: Command) =>
    list(command.optsWithGlobals<ListOptions>()),
  );
  dlq
    .command('group')
    .summary('one cause of failure; leaves a note or an owner on it, or mutes it')
    .argument('<id>', ID)
    .option('--note <text>', 'leave this note; an empty one takes it off')
    .option('--owner <name>', 'who looks after it; an empty name takes it off')
    .option('--mute <time>', 'let its letters raise no alert for so long: 30m, 8h, 7d, at most 30d')
    .option('--unmute', 'let them raise alerts again')
    .action((id: string, _: unknown, command: Command) => tend(id, command.optsWithGlobals<GroupOptions>()));
  dlq
    .command('merge')
    .summary('make two causes one: letters of the first are, and will be, of the second')
    .argument('<id>', ID)
    .argument('<into>', ID)
    .option('--note <text>', 'why; kept in the audit log')
    .action((id: string, into: string, _: unknown, command: Command) =>
      merge(id, into, command.optsWithGlobals<GroupOptions>()),
    );
  dlq
    .command('split')
    .summary('make several causes of one: a group for each value of a field')
    .argument('<id>', ID)
    .argument('<field>', 'queue, name, reason, worker, message or payload.<path>')
    .option('--note <text>', 'why; kept in the audit log')
    .action((id: string, field: string, _: unknown, command: Command) =>
      split(id, field, command.optsWithGlobals<GroupOptions>()),
    );
}

async function list(options: ListOptions): Promise<void> {
  const status = options.any ? 'any' : 'open';
  await withDlqAdmin(options, (client) =>
    printPages(
      options.output,
      pages((page) => client.groups({ ...page, status }), options),
      { header: GROUP_HEADER, row: groupRow },
    ),
  );
}

async function tend(begun: string, options: GroupOptions): Promise<void> {
  const change = changeOf(options);
  const group = await withDlqAdmin(options, async (client) => {
    const id = await groupId(client, begun);
    return Object.keys(change).length > 0 ? client.changeGroup(id, change) : client.group(id);
  });
  process.stdout.write(options.output === 'json' ? json(group) : groupReport(group));
}

function changeOf({ note, owner, mute, unmute }: GroupOptions): GroupChange {
  const span = mute === undefined ? undefined : spanOf(mute);
  if (mute !== undefined && span === undefined)
    throw new CliError(`--mute: found "${mute}", allowed is a time such as 30m, 8h or 7d`, CLI_EXIT.usage);
  return {
    ...(note !== undefined && { note: note || null }),
    ...(owner !== undefined && { owner: owner || null }),
    ...(span !== undefined && { mutedUntil: Date.now() + span }),
    ...(unmute && { mutedUntil: null }),
  };
}

async function merge(begun: string, intoBegun: string, options: GroupOptions): Promise<void> {
  const group = await withDlqAdmin(options, async (client) => {
    const [id, into] = [await groupId(client, begun), await groupId(client, intoBegun)];
    return client.mergeGroup(id, into, options.note);
  });
  process.stdout.write(options.output === 'json' ? json(group) : groupReport(group));
}

async function split(begun: string, field: string, options: GroupOptions): Promise<void> {
  const { items } = await withDlqAdmin(options, async (client) =>
    client.splitGroup(await groupId(client, begun), field, options.note),
  );
  process.stdout.write(options.output === 'json' ? json(items) : table(GROUP_HEADER, items.map(groupRow)));
}
