import type { Command } from 'commander';
import type { AuditRow, DeadEvent } from '#dlq-client';
import { acting, print } from '../../command.js';
import { addListing, withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { wholeId } from '../../dlq/filter.js';
import type { PagingOptions } from '../../output/paged.js';
import { plain, shortId, time, type Columns } from '../../output/table.js';

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
export function addRecords(dlq: Command): void {
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
