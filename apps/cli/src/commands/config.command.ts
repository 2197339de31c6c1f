import { Option, type Command } from 'commander';
import { spawnSync } from 'node:child_process';
import { appMain } from '../fleet/app-main.js';

const APPS = ['producer', 'batcher', 'outbox-publisher', 'analyzer', 'dlq-admin'];

export function addConfig(program: Command): void {
  program
    .command('config')
    .summary('the configuration in force for an app, secrets masked')
    .addOption(new Option('--app <name>', 'which app').choices(APPS).default('batcher'))
    .addHelpText(
      'after',
      '\nExamples:\n  millrace config --app dlq-admin\n\nExit codes: 0 valid, 78 invalid (every fault is listed)',
    )
    .action(({ app }: { app: string }) => {
      const done = spawnSync(process.execPath, [appMain(app), '--print-config'], { stdio: 'inherit' });
      process.exitCode = done.status ?? 1;
    });
}
