import type { Command } from 'commander';
import { DlqUnreachableError, type AuditRow, type DeadEvent, type Stats } from '#dlq-client';
import { sleep } from '#service';
import { acting, print, stopSignal, whole } from '../command.js';
import { addConnectionOptions, addListing, asking, NOTE, withDlqAdmin } from '../dlq/connection.js';
import type { ConnectionOptions } from '../dlq/connection.js';
import { wholeId } from '../dlq/filter.js';
import type { PagingOptions } from '../output/paged.js';
import { Screen } from '../output/screen.js';
import { count, duration, plain, shortId, tableOf, time, type Columns } from '../output/table.js';
import { addChanges } from './dlq/change.command.js';
import { addEdit } from './dlq/edit.command.js';
import { addGroups } from './dlq/groups.command.js';
import { addLetters } from './dlq/letters.command.js';

const HELP = `
Examples:
  millrace dlq groups                                   the causes, largest first
  millrace dlq requeue --group 1f0c… --dry-run          what a requeue would do
  millrace dlq requeue --group 1f0c… --canary --rps 50  small steps first, stops when they fail again
  millrace dlq group 1f0c --owner ada --mute 8h         who looks after it; no alert until then
  millrace dlq edit 42 --set user.id=7 --requeue        fix one payload and try it
  millrace dlq list --text timeout -o json | jq -r '.[].id' | millrace dlq discard -

The API key comes from MILLRACE_DLQ_API_KEY, --key-file or --key-stdin, never from an argument, which others could see.`;

const EXIT_CODES = `
Exit codes: 0 done, 1 nothing matches, 3 some were skipped, refused or failed again, 5 the key is missing or its role
            does not suffice, 64 wrong usage, 66 there is no such letter, 69 dlq-admin does not answer, 78 invalid
            configuration, 130 stopped by Ctrl-C or answered with no`;

export function addDlq(program: Command): void {
  const dlq = addConnectionOptions(
    program
      .command('dlq')
      .summary('look at dead letters, fix them, and requeue them')
      .description('Dead letters by the REST interface of dlq-admin.')
      .configureHelp({ showGlobalOptions: true })
      .addHelpText('after', HELP)
      .addHelpText('afterAll', EXIT_CODES),
  );
  for (const add of [addOverview, addGroups, addLetters, addChanges, addEdit, addRecords]) add(dlq);
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

type WatchOptions = ConnectionOptions & { every: number; times?: number };

function addOverview(dlq: Command): void {
  dlq
    .command('stats')
    .summary('how many, in which queues, how old; alerts')
    .action(
      asking(
        (client) => client.stats(),
        (stats) => `${statsLines(stats).join('\n')}\n`,
      ),
    );
  dlq
    .command('acknowledge')
    .summary('say that you look after an alert, until it clears')
    .argument('<rule>', 'the rule of the alert, as `millrace dlq stats` shows it')
    .option(...NOTE)
    .action(
      asking(
        (client, { note }, rule) => client.acknowledge(rule, note),
        (alert) => `${plain(`${alert.acknowledgedBy} looks after: ${alert.words}`)}\n`,
      ),
    );
  dlq
    .command('watch')
    .summary('follow the stats until Ctrl-C')
    .description(
      'Redraws the stats on a terminal; elsewhere prints a line each time, with -o json a JSON line.',
    )
    .option('--every <seconds>', 'how often', whole('--every', 1, 86_400), 2)
    .option('--times <n>', 'end after so many', whole('--times', 1, 1_000_000_000))
    .action(acting(watch));
}

async function watch(options: WatchOptions): Promise<void> {
  const stop = stopSignal();
  const screen = new Screen(process.stdout, 0);
  await withDlqAdmin(options, async (client) => {
    for (let times = 1; !stop.aborted; times++) {
      const stats = await client.stats().catch((error: unknown) => {
        // Wrong from the start is an error; away for a while is a state to watch.
        if (times === 1 || !(error instanceof DlqUnreachableError)) throw error;
        return { problem: error.message };
      });
      if (options.output === 'json') process.stdout.write(`${plain(JSON.stringify(stats))}\n`);
      else if ('problem' in stats) screen.draw([stats.problem], stats.problem);
      else screen.draw(statsLines(stats), statsLine(stats));
      if (times === options.times) return;
      await sleep(options.every * 1_000, stop);
    }
  });
}

/** How things stand, as a block of lines. */
function statsLines(stats: Stats): string[] {
  const { open, requeued, discarded, deadEvents, waiting, queues, alerts, at } = stats;
  const arriving = waiting === null ? 'Redis does not answer' : `${count(waiting)} to be taken in`;
  const table = tableOf(queues, {
    'QUEUE:60': 'queue',
    OPEN: 'open',
    TOTAL: 'total',
    OLDEST: ({ oldestAt }) => (oldestAt === null ? '' : duration(Math.max(0, at - oldestAt))),
  });
  return [
    `Open ${count(open)}, requeued ${count(requeued)}, discarded ${count(discarded)}; ${arriving}; dead events ${count(deadEvents)}`,
    ...(queues.length > 0 ? table.trimEnd().split('\n') : []),
    ...alerts
      .filter(({ state }) => state === 'firing')
      .map(({ rule, words, since, acknowledgedBy: by }) =>
        plain(`ALERT ${rule}: ${words}; since ${time(since)}${by ? `, ${by} looks after it` : ''}`),
      ),
  ];
}

/** The same in one line, for logs. */
function statsLine({ at, open, requeued, discarded, deadEvents, waiting, alerts }: Stats): string {
  const firing = alerts.filter(({ state }) => state === 'firing').map(({ rule }) => rule);
  return plain(
    `${time(at)} open=${open} requeued=${requeued} discarded=${discarded} waiting=${waiting ?? 'unknown'} dead_events=${deadEvents}` +
      ` alerts=${firing.join(',') || 'none'}`,
  );
}
