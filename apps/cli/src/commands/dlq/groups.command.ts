import type { Command } from 'commander';
import type { Group, GroupChange } from '#dlq-client';
import { UsageError } from '../../cli.errors.js';
import { addListing, asking, NOTE, type ConnectionOptions } from '../../dlq/connection.js';
import { groupId, spanOf } from '../../dlq/filter.js';
import type { PagingOptions } from '../../output/paged.js';
import { count, factLines, shortId, tableOf, time, type Columns } from '../../output/table.js';

interface TendOptions extends ConnectionOptions {
  owner?: string;
  mute?: number;
  unmute?: boolean;
}

const GROUP_COLUMNS: Columns<Group> = {
  GROUP: ({ id }) => shortId(id),
  OPEN: 'open',
  LAST: ({ lastSeenAt }) => time(lastSeenAt),
  'OWNER:20': 'owner',
  'ERROR:200': ({ errorName, newest, message }) => `${errorName}: ${newest ?? message}`,
};

const ID = 'the group, or how its id begins';

type ListOptions = ConnectionOptions & PagingOptions & { any?: boolean };

export function addGroups(dlq: Command): void {
  const groups = dlq
    .command('groups')
    .summary('causes of failure, the largest first')
    .option('--any', 'also those without an open letter');
  addListing(
    groups,
    (client, page, { any }: ListOptions) => client.groups({ ...page, status: any ? 'any' : 'open' }),
    GROUP_COLUMNS,
  );
  addGroup(dlq);
  dlq
    .command('merge')
    .summary('make two causes one: letters of the first are, and will be, of the second')
    .argument('<id>', ID)
    .argument('<into>', ID)
    .option(...NOTE)
    .action(
      asking(
        async (client, { note }, id, into) =>
          client.mergeGroup(await groupId(client, id), await groupId(client, into), note),
        groupReport,
      ),
    );
  dlq
    .command('split')
    .summary('make several causes of one: a group for each value of a field')
    .argument('<id>', ID)
    .argument('<field>', 'queue, name, reason, worker, message or payload.<path>')
    .option(...NOTE)
    .action(
      asking(
        async (client, { note }, id, field) =>
          (await client.splitGroup(await groupId(client, id), field, note)).items,
        (groups) => tableOf(groups, GROUP_COLUMNS),
      ),
    );
}

function addGroup(dlq: Command): void {
  dlq
    .command('group')
    .summary('one cause of failure; leaves a note or an owner on it, or mutes it')
    .argument('<id>', ID)
    .option('--note <text>', 'leave this note; an empty one takes it off')
    .option('--owner <name>', 'who looks after it; an empty name takes it off')
    .option('--mute <time>', 'let its letters raise no alert for so long: 30m, 8h, 7d, at most 30d', muteSpan)
    .option('--unmute', 'let them raise alerts again')
    .action(
      asking(async (client, options: TendOptions, begun) => {
        const change = changeOf(options);
        const id = await groupId(client, begun);
        return Object.keys(change).length > 0 ? client.changeGroup(id, change) : client.group(id);
      }, groupReport),
    );
}

function muteSpan(text: string): number {
  const span = spanOf(text);
  if (span !== undefined) return span;
  throw new UsageError(`--mute: found "${text}", allowed is a time such as 30m, 8h or 7d`);
}

function changeOf({ note, owner, mute, unmute }: TendOptions): GroupChange {
  return {
    ...(note !== undefined && { note: note || null }),
    ...(owner !== undefined && { owner: owner || null }),
    ...(mute !== undefined && { mutedUntil: Date.now() + mute }),
    ...(unmute && { mutedUntil: null }),
  };
}

/** One cause with what people have left on it. */
function groupReport(group: Group): string {
  const { mutedUntil, queues, workers } = group;
  return factLines([
    ['Group', group.id],
    ['Error', `${group.errorName}: ${group.newest ?? group.message}`],
    ['Pattern', group.message],
    ['Where', group.frame],
    ['Letters', `${count(group.open)} open, ${count(group.total)} in all`],
    ['Seen', `${time(group.firstSeenAt)} to ${time(group.lastSeenAt)}`],
    ['Last day', `${count(group.recent.reduce((sum, n) => sum + n, 0))} came`],
    ['Queues', queues.map(({ queue, open }) => `${queue} ${count(open)}`).join(', ')],
    ['Workers', workers.map(({ worker, total }) => `${worker} ${count(total)}`).join(', ')],
    ['Owner', group.owner],
    ['Note', group.note],
    ['Muted', mutedUntil && mutedUntil > Date.now() ? `until ${time(mutedUntil)}` : null],
    ['Merged', group.mergedInto && `into ${group.mergedInto}`],
    ['Split', group.splitBy && `by ${group.splitBy}`],
  ]);
}
