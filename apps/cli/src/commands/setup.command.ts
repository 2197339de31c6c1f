import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { CLI_EXIT } from '../cli.errors.js';
import { acting, print } from '../command.js';
import { appMain, type AppName } from '../fleet/child-app.js';
import { childEnvironment, inContainer } from '../own-settings.js';
import { opened, placesOf, type GlobalOptions } from '../settings.js';

/** What comes before a start: the schema, the settings, and whether all is there. */
export function addSetup(program: Command): void {
  program
    .command('migrate')
    .summary('bring the schema of the database up to date, and end')
    .description(
      `Applies the migrations that the database lacks, in one transaction, and ends. For fleets whose processes run with
DATABASE_MIGRATIONS=check under a role that may not change tables: run it once before each roll-out, as the owner.
Running it again, or twice at the same time, does nothing more. Exit codes: 0 up to date, 1 not done, 78 bad settings.`,
    )
    .option('--grants <file>', 'then run this file of GRANTs, such as deploy/postgres/app-roles.sql')
    .addHelpText(
      'after',
      '\nExamples:\n  MILLRACE_DATABASE_URL=postgres://owner:…@host/millrace millrace migrate\n  MILLRACE_DATABASE_URL_FILE=/secrets/owner-url millrace migrate',
    )
    .action(acting(migrate));
  program
    .command('config')
    .summary('the configuration in force for an app, secrets masked')
    .addOption(new Option('--app <name>', 'which app').choices(APPS).default('batcher'))
    .addHelpText(
      'after',
      '\nExamples:\n  millrace config --app dlq-admin\n\nExit codes: 0 valid, 78 invalid (every fault is listed)',
    )
    .action(acting(printConfig));
  program
    .command('doctor')
    .argument('[directory]', 'a directory that you want to run on')
    .summary('what is there for a run and what is missing, with the cure')
    .description(
      `Looks at Node, Redis, the database, permissions, free disk and the limit of open files, and changes nothing.
Exit codes: 0 nothing is missing, 69 something is.`,
    )
    .addHelpText('after', '\nExamples:\n  millrace doctor\n  millrace doctor ./texts -o json')
    .action(acting(examine));
}

async function migrate(options: GlobalOptions & { grants?: string }): Promise<void> {
  const grants = options.grants === undefined ? undefined : await readFile(options.grants, 'utf8');
  await opened(await placesOf(options), 'run', async (database) => {
    if (grants) await database.inTransaction((tx) => tx.query(grants));
  });
  print(options, { schema: 'current' }, () => 'the database schema is up to date\n');
}

const APPS: AppName[] = ['producer', 'batcher', 'outbox-publisher', 'analyzer', 'dlq-admin'];

async function printConfig({ app }: { app: AppName }): Promise<void> {
  const { status } = spawnSync(process.execPath, [appMain(app), '--print-config'], {
    stdio: 'inherit',
    env: await childEnvironment(),
    ...(!inContainer() && { cwd: import.meta.dirname }),
  });
  process.exitCode = status ?? 1;
}

async function examine(options: GlobalOptions, directory?: string): Promise<void> {
  const { diagnose, doctorReport } = await import('../doctor/doctor.js');
  const findings = await diagnose({ places: await placesOf(options), directory });
  print(options, findings, doctorReport);
  if (findings.some(({ ok }) => !ok)) process.exitCode = CLI_EXIT.unavailable;
}
