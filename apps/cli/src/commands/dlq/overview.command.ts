import type { Command } from 'commander';
import { DlqUnreachableError, type DlqClient, type Stats } from '#dlq-client';
import { sleep } from '#service';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { statsLine, statsLines } from '../../dlq/overview-report.js';
import { Screen } from '../../output/screen.js';
import { json, plain } from '../../output/table.js';
import { wholeNumber } from '../../output/whole-number.js';
import { stopSignal } from '../../stop-signal.js';

type WatchOptions = ConnectionOptions & { every: number; times?: number };

export function addOverview(dlq: Command): void {
  dlq
    .command('stats')
    .summary('how many, in which queues, how old; alerts')
    .action((_: unknown, command: Command) => showStats(command.optsWithGlobals<ConnectionOptions>()));

  dlq
    .command('acknowledge')
    .summary('say that you look after an alert, until it clears')
    .argument('<rule>', 'the rule of the alert, as `millrace dlq stats` shows it')
    .option('--note <text>', 'why; kept in the audit log')
    .action(async (rule: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<ConnectionOptions & { note?: string }>();
      const alert = await withDlqAdmin(options, (client) => client.acknowledge(rule, options.note));
      process.stdout.write(
        options.output === 'json'
          ? json(alert)
          : plain(`${alert.acknowledgedBy} looks after: ${alert.words}`) + '\n',
      );
    });

  dlq
    .command('watch')
    .summary('follow the stats until Ctrl-C')
    .description(
      'Redraws the stats on a terminal; elsewhere prints a line each time, with -o json a JSON line.',
    )
    .option('--every <seconds>', 'how often', (text) => wholeNumber('--every', text, 1, 86_400), 2)
    .option('--times <n>', 'end after so many', (text) => wholeNumber('--times', text, 1, 1_000_000_000))
    .action((_: unknown, command: Command) => watch(command.optsWithGlobals<WatchOptions>()));
}

async function showStats(options: ConnectionOptions): Promise<void> {
  const stats = await withDlqAdmin(options, (client) => client.stats());
  process.stdout.write(options.output === 'json' ? json(stats) : `${statsLines(stats).join('\n')}\n`);
}

async function watch(options: WatchOptions): Promise<void> {
  const stop = stopSignal();
  const screen = new Screen(process.stdout, 0);
  await withDlqAdmin(options, async (client) => {
    for (let times = 1; !stop.aborted; times++) {
      // Wrong from the start is an error; away for a while is a state to watch.
      const stats = await (times === 1 ? client.stats() : statsOrWhy(client));
      if (options.output === 'json') process.stdout.write(`${plain(JSON.stringify(stats))}\n`);
      else screen.draw(...drawn(stats));
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

function drawn(stats: Stats | { problem: string }): [string[], string] {
  if ('problem' in stats) return [[stats.problem], stats.problem];
  return [statsLines(stats), statsLine(stats)];
}
