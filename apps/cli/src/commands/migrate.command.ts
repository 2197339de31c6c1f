import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { migratedDatabase, placesOf, type GlobalOptions } from '../settings.js';

export function addMigrate(program: Command): void {
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
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { grants?: string }>();
      const grants = options.grants === undefined ? undefined : await readFile(options.grants, 'utf8');
      await migratedDatabase(await placesOf(options), async (database) => {
        if (grants) await database.inTransaction((tx) => tx.query(grants));
      });
      process.stdout.write(
        options.output === 'json' ? '{"schema":"current"}\n' : 'the database schema is up to date\n',
      );
    });
}
