import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { json } from '../output/table.js';
import { wholeNumber } from '../output/whole-number.js';
import { placesOf, withDatabase, type GlobalOptions } from '../settings.js';
import { exitCodeOf, proofReport } from '../verify/report.js';

interface VerifyOptions extends GlobalOptions {
  deep?: boolean;
  report?: string;
  rows: number;
}

export function addVerify(program: Command): void {
  program
    .command('verify')
    .summary('prove from the tables that nothing was lost and nothing sent twice')
    .description(
      `Proves, from the database alone, that every discovered file is in exactly one state, every file revision in exactly
one batch (or skipped or failed with a reason), every batch within its budget, with one event and one effect.
Exit codes: 0 proven (or in flight, with nothing broken), 3 proven except for what is listed with cause and cure,
4 a promise is broken, 66 no database.`,
    )
    .option('--deep', 'also read every analysed file again and compare it with what was sent')
    .option(
      '--rows <n>',
      'rows shown of each finding',
      (text) => wholeNumber('--rows', text, 1, 10_000_000),
      20,
    )
    .option('--report <file>', 'write the proof as JSON to this file')
    .addHelpText(
      'after',
      '\nExamples:\n  millrace verify\n  millrace verify --deep -o json\n  MILLRACE_DATABASE_URL=postgres://… millrace verify --report proof.json',
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<VerifyOptions>();
      await withDatabase(await placesOf(options), async (database) => {
        const { deepCheck, verify } = await import('#proof');
        const proof = await verify(database, { rows: options.rows });
        if (options.deep) proof.checks.push(...(await deepCheck(database)));
        if (proof.checks.some(({ ok }) => !ok)) proof.verdict = 'violated';
        if (options.report) await writeFile(options.report, json(proof));
        process.stdout.write(options.output === 'json' ? json(proof) : proofReport(proof));
        process.exitCode = exitCodeOf(proof);
      });
    });
}
