import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Proof } from '#proof';
import { whole } from '../command.js';
import { json } from '../output/table.js';
import { looking, type GlobalOptions, type Looked } from '../settings.js';
import { proofReport, VERDICT_EXIT } from '../verify/report.js';

interface VerifyOptions extends GlobalOptions {
  deep?: boolean;
  proof?: string;
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
    .option('--deep', 'also walk the tree and the output again and compare both with what was delivered')
    .option(
      '--proof <folder>',
      'write sources.sha256 (for `sha256sum -c` at the root) and a bag of the batches there',
    )
    .option('--rows <n>', 'rows shown of each finding', whole('--rows', 1, 10_000_000), 20)
    .option('--report <file>', 'write the proof as JSON to this file')
    .addHelpText(
      'after',
      '\nExamples:\n  millrace verify\n  millrace verify --deep -o json\n  MILLRACE_DATABASE_URL=postgres://… millrace verify --report proof.json',
    )
    .action(looking(prove, proofReport));
}

async function prove({ database, data, databaseUrl }: Looked, options: VerifyOptions): Promise<Proof> {
  const { databaseFiles } = await import('#database');
  const { keptOut } = await import('../run/plan.js');
  const { deepen, verify, writeProof } = await import('#proof');
  const { rows } = options;
  const tables = await verify(database, { rows });
  const ownPaths = [data.path, ...databaseFiles(databaseUrl), ...(await keptOut())];
  const proof = options.deep ? await deepen(database, tables, { ownPaths, rows }) : tables;
  if (options.proof) await writeProof(database, proof, options.proof);
  if (options.report) await writeFile(options.report, json(proof));
  process.exitCode = VERDICT_EXIT[proof.verdict];
  return proof;
}
