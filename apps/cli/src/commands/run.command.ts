import { Option, type Command } from 'commander';
import { FORMATS } from '#envelope';
import { checkRequest, type RunOptions } from '../run/run-options.js';
import { stopSignal } from '../stop-signal.js';

const EXAMPLES = `
Examples:
  millrace run ./src                                 batches of Markdown in ./millrace-out
  millrace run . --max-tokens 32000 --format jsonl   smaller batches, as JSON lines
  millrace run . --exclude '**/*.min.js' --dry-run   what would be sent, by folder
  millrace run /data --url https://analyser/batches  post each batch instead of writing it
  REDIS_URL=… DATABASE_URL=… millrace run /data      use a shared Redis and PostgreSQL

Exit codes: 0 all delivered, 3 delivered but some files failed, 4 the proof found a violation, 64 wrong usage,
            66 the directory cannot be read, 69 a service is missing, 78 invalid configuration, 130 stopped by Ctrl-C`;

export function addRun(program: Command): void {
  program
    .command('run')
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
    .option('--workers <n>', 'batcher processes', '1')
    .option('--url <address>', 'POST batches there instead of writing them')
    .option('--keep', 'leave the services and the dead-letter pages up until Ctrl-C')
    .option('--dry-run', 'only tell what would be batched; write nothing')
    .option('--allow-mass-removal', 'accept that most known files are gone')
    .option('--report <file>', 'write the proof as JSON to this file')
    .addHelpText('after', EXAMPLES)
    .action(async (directory: string, _: unknown, command: Command) => {
      const request = await checkRequest(directory, command.optsWithGlobals<RunOptions>());
      const { run } = await import('../run/run.js');
      process.exitCode = await run(request, stopSignal());
    });
}
