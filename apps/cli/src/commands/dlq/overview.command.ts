import type { Command } from 'commander';
import { DlqUnreachableError, type AlertView, type DlqClient, type Stats } from '#dlq-client';
import { sleep } from '#service';
import { acting, stopSignal, whole } from '../../command.js';
import { asking, NOTE, withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { Screen } from '../../output/screen.js';
import { count, duration, plain, tableOf, time } from '../../output/table.js';

type WatchOptions = ConnectionOptions & { every: number; times?: number };

export function addOverview(dlq: Command): void {
  dlq
    .command('stats')
    .summary('how many, in which queues, how old; alerts')
    .action(asking(statsOf, (stats) => `${statsLines(stats).join('\n')}\n`));
  dlq
    .command('acknowledge')
    .summary('say that you look after an alert, until it clears')
    .argument('<rule>', 'the rule of the alert, as `millrace dlq stats` shows it')
    .option(...NOTE)
    .action(
      asking(acknowledge, (alert) => `${plain(`${alert.acknowledgedBy} looks after: ${alert.words}`)}\n`),
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

const statsOf = (client: DlqClient): Promise<Stats> => client.stats();
const acknowledge = (client: DlqClient, { note }: ConnectionOptions, rule: string): Promise<AlertView> =>
  client.acknowledge(rule, note);

async function watch(options: WatchOptions): Promise<void> {
  const stop = stopSignal();
  const screen = new Screen(process.stdout, 0);
  await withDlqAdmin(options, async (client) => {
    for (let times = 1; !stop.aborted; times++) {
      // Wrong from the start is an error; away for a while is a state to watch.
      const stats = await (times === 1 ? client.stats() : statsOrWhy(client));
      if (options.output === 'json') process.stdout.write(`${plain(JSON.stringify(stats))}\n`);
      else if ('problem' in stats) screen.draw([stats.problem], stats.problem);
      else screen.draw(statsLines(stats), statsLine(stats));
      if (times === options.times) return;
      await sleep(options.every * 1_000, stop);
    }
  });
}

async function statsOrWhy(client: DlqClient): Promise<Stats | { problem: string }> {
  try {
    return await client.stats();
  } catch (error) {
    if (error instanceof DlqUnreachableError) return { problem: error.message };
    throw error;
  }
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
