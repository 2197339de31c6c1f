import type { Command } from 'commander';
import { json } from '../output/table.js';
import { placesOf, withDatabase, type GlobalOptions } from '../settings.js';

export function addStatus(program: Command): void {
  program
    .command('status')
    .summary('where everything stands: files, batches, events, queues, lag')
    .addHelpText('after', '\nExamples:\n  millrace status\n  millrace status -o json | jq .counts.files')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const places = await placesOf(options);
      const { readStatus, statusReport } = await import('../status/status.js');
      const status = await withDatabase(places, (database) => readStatus(database, places.redisUrl));
      process.stdout.write(options.output === 'json' ? json(status) : statusReport(status));
    });
}
