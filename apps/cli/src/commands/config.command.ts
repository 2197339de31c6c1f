import { Option, type Command } from 'commander';
import { spawnSync } from 'node:child_process';
import { appMain, type AppName } from '../fleet/app-main.js';
import { childEnvironment, inContainer } from '../own-settings.js';

const APPS: AppName[] = ['producer', 'batcher', 'outbox-publisher', 'analyzer', 'dlq-admin'];

export function addConfig(program: Command): void {
  program
    .command('config')
    .summary('the configuration in force for an app, secrets masked')
    .addOption(new Option('--app <name>', 'which app').choices(APPS).default('batcher'))
    .addHelpText(
      'after',
      '\nExamples:\n  millrace config --app dlq-admin\n\nExit codes: 0 valid, 78 invalid (every fault is listed)',
    )
    .action(async ({ app }: { app: AppName }) => {
      const done = spawnSync(process.execPath, [appMain(app), '--print-config'], {
        stdio: 'inherit',
        env: await childEnvironment(),
        ...(!inContainer() && { cwd: import.meta.dirname }),
      });
      process.exitCode = done.status ?? 1;
    });
}
