import type { Command } from 'commander';
import type { DuplicateGroup, DuplicatesTotals } from '#database';
import { UsageError } from '../cli.errors.js';
import { whole } from '../command.js';
import { bytes, count, plain } from '../output/table.js';
import { looking, type GlobalOptions, type Looked } from '../settings.js';

type DuplicatesOptions = GlobalOptions & { minSize: number; limit: number };

interface Found {
  totals: DuplicatesTotals;
  groups: DuplicateGroup[];
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
    .option('--limit <n>', 'so many groups at most', whole('--limit', 1, 10_000), 20)
    .addHelpText(
      'after',
      "\nExamples:\n  millrace duplicates --min-size 1M\n  millrace duplicates -o json | jq -r '.groups[].paths[1:][]'",
    )
    .action(looking(find, report));
}

async function find({ database }: Looked, options: DuplicatesOptions): Promise<Found> {
  const { Duplicates } = await import('#database');
  const duplicates = new Duplicates(database);
  return { totals: await duplicates.totals(options), groups: await duplicates.groups(options) };
}

function sizeOf(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,12})([kMGT]?)$/.exec(text) ?? [];
  if (amount) return Number(amount) * (UNITS[unit] ?? 1);
  throw new UsageError(`--min-size: found "${text}", allowed are bytes, or a number with k, M, G or T`);
}

function report({ totals, groups }: Found): string {
  const unhashed = totals.files - totals.hashed;
  const shown = groups.length < totals.groups ? `, the first ${count(groups.length)} shown` : '';
  return [
    ...groups.flatMap(groupLines),
    `${count(totals.groups)} groups${shown}; ${bytes(totals.waste)} could be saved.\n`,
    unhashed > 0
      ? `${count(unhashed)} of ${count(totals.files)} files have no hash (yet) and are not compared.\n`
      : '',
  ].join('');
}

function groupLines({ size, copies, waste, hash, algorithm, paths }: DuplicateGroup): string[] {
  return [
    `${bytes(waste)} wasted: ${count(copies)} copies of ${bytes(size)}  ${plain(algorithm)}:${plain(hash).slice(0, 16)}\n`,
    ...paths.map((path) => `  ${plain(path)}\n`),
    '\n',
  ];
}
