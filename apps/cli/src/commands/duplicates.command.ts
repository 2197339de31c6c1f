import type { Command } from 'commander';
import type { DuplicateGroup, DuplicatesTotals } from '#database';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { bytes, count, json, plain } from '../output/table.js';
import { wholeNumber } from '../output/whole-number.js';
import { placesOf, withDatabase, type GlobalOptions } from '../settings.js';

interface DuplicatesOptions extends GlobalOptions {
  minSize: number;
  limit: number;
}

const UNITS: Record<string, number> = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

export function addDuplicates(program: Command): void {
  program
    .command('duplicates')
    .summary('files with equal content, largest waste first')
    .description(
      `Lists groups of files with equal content by the hashes that scans and batchers recorded; reads no file.
Exit codes: 0 listed, also when there are none, 64 wrong usage, 66 no database.`,
    )
    .option('--min-size <bytes>', 'leave out smaller files: 4096, 10k, 1M', sizeOf, 1)
    .option('--limit <n>', 'so many groups at most', (text) => wholeNumber('--limit', text, 1, 10_000), 20)
    .addHelpText(
      'after',
      "\nExamples:\n  millrace duplicates --min-size 1M\n  millrace duplicates -o json | jq -r '.groups[].paths[1:][]'",
    )
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<DuplicatesOptions>();
      await withDatabase(await placesOf(options), async (database) => {
        const { Duplicates } = await import('#database');
        const duplicates = new Duplicates(database);
        const totals = await duplicates.totals(options);
        const groups = await duplicates.groups(options);
        process.stdout.write(options.output === 'json' ? json({ totals, groups }) : report(totals, groups));
      });
    });
}

function sizeOf(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,12})([kMGT]?)$/.exec(text) ?? [];
  if (amount) return Number(amount) * (UNITS[unit] ?? 1);
  throw new CliError(
    `--min-size: found "${text}", allowed are bytes, or a number with k, M, G or T`,
    CLI_EXIT.usage,
  );
}

function report(totals: DuplicatesTotals, groups: readonly DuplicateGroup[]): string {
  const { hashed, files } = totals;
  const unhashed =
    hashed < files
      ? [`${count(files - hashed)} of ${count(files)} files have no hash (yet) and are not compared.`]
      : [];
  const shown = groups.length < totals.groups ? `, the first ${count(groups.length)} shown` : '';
  return [
    ...groups.flatMap(groupLines),
    `${count(totals.groups)} groups${shown}; ${bytes(totals.waste)} could be saved.`,
    ...unhashed,
    '',
  ].join('\n');
}

function groupLines({ size, copies, waste, hash, algorithm, paths }: DuplicateGroup): string[] {
  return [
    `${bytes(waste)} wasted: ${count(copies)} copies of ${bytes(size)}  ${plain(algorithm)}:${plain(hash).slice(0, 16)}`,
    ...paths.map((path) => `  ${plain(path)}`),
    '',
  ];
}
