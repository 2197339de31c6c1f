import type { Command } from 'commander';
import type { RunOptions } from '../run/run-options.js';

export function addScan(program: Command): void {
  program
    .command('scan')
    .summary('only register the files of a directory and put them in the queue')
    .description(
      'Registers what is new, changed or gone and enqueues it for the batchers of a running fleet, or of the next run.',
    )
    .argument('<directory>', 'the directory to scan')
    .option('--include <glob...>', 'only files that match')
    .option('--exclude <glob...>', 'leave out files that match')
    .option('--allow-mass-removal', 'accept that most known files are gone')
    .addHelpText(
      'after',
      '\nExamples:\n  millrace scan ./src\n  MILLRACE_REDIS_URL=… MILLRACE_DATABASE_URL=… millrace scan /data\n\nExit codes: 0 registered, 64 wrong usage, 66 the directory cannot be read, 69 a service is missing, 77 most known files are gone, 78 invalid configuration',
    )
    .action(async (directory: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RunOptions>();
      const { scan } = await import('../run/scan.js');
      await scan(directory, { ...options, out: 'millrace-out', workers: '1', format: 'markdown' });
    });
}
