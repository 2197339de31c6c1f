import type { Command } from 'commander';
import { placesConfig } from '../cli.config.js';
import { Screen } from '../output/screen.js';
import { json } from '../output/table.js';
import { placesOf, withDatabase, type GlobalOptions } from '../settings.js';
import { stopSignal } from '../stop-signal.js';

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
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { watch?: boolean }>();
      const places = await placesOf(options);
      const { watchStatus, withOverview } = await import('../status/status.js');
      const { statusReport } = await import('../status/status-report.js');
      const { READ_DATABASE_URL: databaseUrl = places.databaseUrl } = await placesConfig();
      await withDatabase({ ...places, databaseUrl }, (database) =>
        withOverview(database, places.redisUrl, async (overview) => {
          if (options.watch) return watchStatus(overview, new Screen(process.stdout), stopSignal());
          const view = await overview.view();
          process.stdout.write(options.output === 'json' ? json(view) : statusReport(view));
        }),
      );
    });
}
