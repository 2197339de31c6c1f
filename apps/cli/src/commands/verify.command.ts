import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { CLI_EXIT } from '../cli.errors.js';
import { json } from '../output/table.js';
import { placesOf, withDatabase, type GlobalOptions } from '../settings.js';
import { proofReport } from '../verify/report.js';

interface VerifyOptions extends GlobalOptions {
  deep?: boolean;
  report?: string;
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .summary('prove from the tables that nothing was lost and nothing sent twice')
    .description(
      `Proves, from the database alone, that every discovered file is in exactly one state, every file revision in exactly
one batch (or skipped or failed with a reason), every batch within its budget, with one event and one effect.
Exit codes: 0 proven (or in flight, with nothing broken), 4 a promise is broken, 66 no database.`,
    )
    .option('--deep', 'also read every analysed file again and compare it with what was sent')
    .option('--report <file>', 'write the proof as JSON to this file')
    .addHelpText(
      'after',
      '\nExamples:\n  millrace verify\n  millrace verify --deep -o json\n  DATABASE_URL=postgres://… millrace verify --report proof.json',
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<VerifyOptions>();
      await withDatabase(await placesOf(options), async (database) => {
        const { deepCheck, verify } = await import('#proof');
        const proof = await verify(database);
        if (options.deep) proof.checks.push(...(await deepCheck(database)));
        if (proof.checks.some(({ ok }) => !ok)) proof.verdict = 'violated';
        if (options.report) await writeFile(options.report, json(proof));
        process.stdout.write(options.output === 'json' ? json(proof) : proofReport(proof));
        if (proof.verdict === 'violated') process.exitCode = CLI_EXIT.violated;
      });
    });
}
