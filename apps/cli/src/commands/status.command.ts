import type { Command } from 'commander';
import { placesConfig } from '../cli.config.js';
import { acting, print, stopSignal } from '../command.js';
import { Screen } from '../output/screen.js';
import { placesOf, withDatabase, type GlobalOptions } from '../settings.js';
import { statusReport } from '../status/status-report.js';

export function addStatus(program: Command): void {
  program
    .command('status')
    .summary('where everything stands: scans, files, batches, events, queues, workers')
    .description(
      `Looks at the tables and, while a fleet runs, at its queues; changes nothing.
Exit codes: 0 shown, 64 wrong usage, 66 no database, 69 database or Redis away.`,
    )
    .option('--watch', 'go on showing it until Ctrl-C; without a terminal, a line for each change')
    .addHelpText('after', '\nExamples:\n  millrace status --watch\n  millrace status -o json | jq .files')
    .action(acting(show));
}

async function show(options: GlobalOptions & { watch?: boolean }): Promise<void> {
  const places = await placesOf(options);
  const { watchStatus, withOverview } = await import('../status/status.js');
  const { READ_DATABASE_URL: databaseUrl = places.databaseUrl } = await placesConfig();
  await withDatabase({ ...places, databaseUrl }, (database) =>
    withOverview(database, places.redisUrl, async (overview) =>
      options.watch
        ? watchStatus(overview, new Screen(process.stdout), stopSignal())
        : print(options, await overview.view(), statusReport),
    ),
  );
}
