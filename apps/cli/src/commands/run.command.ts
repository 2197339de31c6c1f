import { Option, type Command } from 'commander';
import { FORMATS } from '#envelope';
import { acting, stopSignal } from '../command.js';
import type { RunOptions } from '../run/run-options.js';

const EXAMPLES = `
Examples:
  millrace run ./src                                 batches of Markdown in ./millrace-out
  millrace run . --max-tokens 32000 --format jsonl   smaller batches, as JSON lines
  millrace run . --exclude '**/*.min.js' --dry-run   what would be sent, by folder
  millrace run /data --url https://analyser/batches  post each batch instead of writing it
  MILLRACE_DATABASE_URL=postgres://… millrace run /data   use a PostgreSQL; MILLRACE_REDIS_URL a Redis

Exit codes: 0 all delivered, 3 delivered but some files failed or wait, 4 the proof found a violation, 64 wrong usage,
            65 the directory overlaps another of this pipeline, 66 it cannot be read, 69 a service is missing,
            73 the output cannot be written, 77 most known files are gone, 78 invalid configuration or another
            destination than the pipeline's, 130 stopped by Ctrl-C`;

export function addRun(program: Command): void {
  program
    .command('run', { isDefault: true })
    .summary('carry a directory through the whole pipeline and prove the outcome')
    .description(
      'Scans the directory, packs its files into token-sized batches, delivers them, and proves that none was lost.',
    )
    .argument('<directory>', 'the directory to work on')
    .option('--out <folder>', 'where batches are written', 'millrace-out')
    .addOption(
      new Option('--format <format>', 'how batches are written').choices([...FORMATS]).default('markdown'),
    )
    .option('--max-tokens <n>', 'token budget of a batch (MAX_BATCH_TOKENS)')
    .option('--encoding <name>', 'tokenizer: o200k_base or cl100k_base (ENCODING)')
    .option('--include <glob...>', 'only files that match')
    .option('--exclude <glob...>', 'leave out files that match')
    .option('--workers <n>', 'batcher processes; more than one implies --separate', '1')
    .option('--separate', 'run each role in a process of its own, as when deployed')
    .option('--url <address>', 'POST batches there instead of writing them')
    .option('--keep', 'leave the services and the dead-letter pages up until Ctrl-C')
    .option('--dry-run', 'only tell what would be batched; write nothing')
    .option('--fresh', 'forget what was delivered, and deliver everything again')
    .option('--retry-failed', 'offer what failed in earlier runs again: dead letters and dead events')
    .option('--patience <seconds>', 'how long to wait for something that is away', '300')
    .option('--allow-mass-removal', 'accept that most known files are gone')
    .option('--report <file>', 'write the proof as JSON to this file')
    .addHelpText('after', EXAMPLES)
    .action(
      acting(async (options: RunOptions, directory: string) => {
        const { checkRequest, requireOutput } = await import('../run/run-options.js');
        const request = await checkRequest(directory, options);
        await requireOutput(request);
        const { run } = await import('../run/run.js');
        process.exitCode = await run(request, stopSignal());
      }),
    );
}

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
    .action(
      acting(async (options: RunOptions, directory: string) => {
        const { scan } = await import('../run/scan.js');
        await scan(directory, { ...options, out: 'millrace-out', workers: '1', format: 'markdown' });
      }),
    );
}
