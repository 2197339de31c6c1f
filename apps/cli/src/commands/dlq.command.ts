import type { Command } from 'commander';
import type { AuditRow, DeadEvent } from '#dlq-client';
import { acting, addExitCodes, print } from '../command.js';
import { addConnectionOptions, addListing, withDlqAdmin, type ConnectionOptions } from '../dlq/connection.js';
import { wholeId } from '../dlq/filter.js';
import type { PagingOptions } from '../output/paged.js';
import { plain, shortId, time, type Columns } from '../output/table.js';
import { addChanges } from './dlq/change.command.js';
import { addEdit } from './dlq/edit.command.js';
import { addGroups } from './dlq/groups.command.js';
import { addLetters } from './dlq/letters.command.js';
import { addOverview } from './dlq/overview.command.js';

const HELP = `
Examples:
  millrace dlq groups                                   the causes, largest first
  millrace dlq requeue --group 1f0c… --dry-run          what a requeue would do
  millrace dlq requeue --group 1f0c… --canary --rps 50  small steps first, stops when they fail again
  millrace dlq group 1f0c --owner ada --mute 8h         who looks after it; no alert until then
  millrace dlq edit 42 --set user.id=7 --requeue        fix one payload and try it
  millrace dlq list --text timeout -o json | jq -r '.[].id' | millrace dlq discard -

The API key comes from MILLRACE_DLQ_API_KEY, --key-file or --key-stdin, never from an argument, which others could see.`;

const EXIT_CODES = `0 done, 1 nothing matches, 3 some were skipped, refused or failed again, 5 the key is missing or its role
            does not suffice, 64 wrong usage, 66 there is no such letter, 69 dlq-admin does not answer, 78 invalid
            configuration, 130 stopped by Ctrl-C or answered with no`;

export function addDlq(program: Command): void {
  const dlq = addConnectionOptions(
    program
      .command('dlq')
      .summary('look at dead letters, fix them, and requeue them')
      .description('Dead letters by the REST interface of dlq-admin.')
      .configureHelp({ showGlobalOptions: true })
      .addHelpText('after', HELP),
  );
  for (const add of [addOverview, addGroups, addLetters, addChanges, addEdit, addRecords]) add(dlq);
  addExitCodes(dlq, EXIT_CODES);
}

const EVENT_COLUMNS: Columns<DeadEvent> = {
  EVENT: ({ id }) => shortId(id),
  CREATED: ({ createdAt }) => time(createdAt),
  'QUEUE:40': 'queue',
  'NAME:40': 'eventName',
  ATTEMPTS: 'attempts',
  'LAST ERROR:80': 'lastError',
};

const AUDIT_COLUMNS: Columns<AuditRow> = {
  NO: ({ id }) => String(id),
  AT: ({ at }) => time(at),
  'ACTOR:40': 'actor',
  ROLE: 'role',
  ACTION: 'action',
  'TARGET:50': 'target',
  RESULT: 'result',
  'REASON:60': 'reason',
};

type AuditOptions = ConnectionOptions & PagingOptions & { target?: string };

/** What dlq-admin keeps besides letters: events that could not be published, and the audit log. */
function addRecords(dlq: Command): void {
  const events = dlq.command('events').summary('outbox events that could not be published, oldest first');
  addListing(events, (client, page) => client.deadEvents(page), EVENT_COLUMNS);
  dlq
    .command('revive')
    .summary('offer dead events to the publishers again')
    .argument('<ids...>', 'ids of events, or how they begin')
    .action(acting(requeueEvents));
  const audit = dlq
    .command('audit')
    .summary('who did what, newest first')
    .option('--target <target>', 'only what was done to this, such as letter:42');
  addListing(
    audit,
    (client, page, { target }: AuditOptions) => client.audit({ ...page, target }),
    AUDIT_COLUMNS,
  );
  dlq
    .command('link')
    .summary('print an address that signs a browser in once')
    .description(
      'An address of the page with a code that signs a browser in once, within the hour, as this key.',
    )
    .action(acting(link));
}

async function link(options: ConnectionOptions): Promise<void> {
  await withDlqAdmin(options, async (client, url) => {
    process.stdout.write(`${url}/#code=${(await client.signInCode()).code}\n`);
  });
}

async function requeueEvents(options: ConnectionOptions, ids: readonly string[]): Promise<void> {
  await withDlqAdmin(options, async (client) => {
    for (const begun of ids) {
      const id = await wholeId('event', begun, (page) => client.deadEvents(page));
      print(options, await client.requeueEvent(id), () => `event ${plain(id)} is offered again\n`);
    }
  });
}
