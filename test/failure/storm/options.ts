import { parseArgs } from 'node:util';
import { DATABASE_KINDS, type DatabaseKind } from '#testing';

export const USAGE = `npm run storm -- [options]

Runs the composed system on a generated tree under a storm of faults, lets it drain, and checks that nothing was lost
and nothing sent twice. The same seed gives the same faults; under an even one each process holds all roles.

  --seed S              the storm to run; a random one unless given
  --runs N              so many storms, from the seed on (default 1)
  --seeds A..B          the storms from A to B, one after another
  --database KIND       sqlite (default), postgres, or both
  --minutes N           how long faults strike, such as 0.5 (default 2)
  --files N             files in the tree at the start (default 1000)
  --hosts               Redis, PostgreSQL and the workers on hosts of their own (network namespaces), parted at times
  --logs FOLDER         keep the log of every process there
  --help                this text

Exit codes: 0 every storm held, 1 one was broken, 64 wrong options, 69 no hosts can be made here, 130 interrupted.
`;

export interface StormRuns {
  kind: 'run';
  databases: readonly DatabaseKind[];
  seeds: readonly number[];
  files: number;
  seconds: number;
  hosts: boolean;
  logs?: string;
}

export type StormCommand = StormRuns | { kind: 'help' } | { kind: 'refused'; message: string };

const MAX_SEED = 2 ** 32 - 1;
const MAX_RUNS = 1_000;

class UsageError extends Error {}

/** What was asked for, or a sentence that says what is wrong with it. */
export function stormCommand(argv: readonly string[], randomSeed: () => number): StormCommand {
  try {
    return read(argv, randomSeed);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (!(error instanceof UsageError) && !code.startsWith('ERR_PARSE_ARGS')) throw error;
    return { kind: 'refused', message: (error as Error).message };
  }
}

function read(argv: readonly string[], randomSeed: () => number): StormCommand {
  const text = { type: 'string' } as const;
  const options = { seed: text, runs: text, seeds: text, database: text, minutes: text, files: text };
  const { values } = parseArgs({
    args: [...argv],
    options: { ...options, logs: text, hosts: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) return { kind: 'help' };
  const { minutes = '2', files = '1000', hosts = false, logs } = values;
  const { database = hosts ? 'postgres' : 'sqlite' } = values;
  if (hosts && database !== 'postgres')
    throw new UsageError(
      `--hosts needs --database postgres, since SQLite is a file on one host, not "${database}"`,
    );
  return {
    kind: 'run',
    databases: databasesOf(database),
    seeds: seedsOf(values, randomSeed),
    files: whole('--files', files, 1, 1_000_000),
    seconds: minutesOf(minutes) * 60,
    hosts,
    ...(logs !== undefined && { logs }),
  };
}

function databasesOf(text: string): readonly DatabaseKind[] {
  if (text === 'both') return DATABASE_KINDS;
  const kind = DATABASE_KINDS.find((known) => known === text);
  if (kind) return [kind];
  throw new UsageError(`--database is ${DATABASE_KINDS.join(', ')} or both, not "${text}"`);
}

function seedsOf(
  { seed, runs, seeds }: { seed?: string; runs?: string; seeds?: string },
  randomSeed: () => number,
): number[] {
  if (seeds !== undefined) {
    if (seed !== undefined || runs !== undefined)
      throw new UsageError('--seeds says which storms to run; leave out --seed and --runs');
    return rangeOf(seeds);
  }
  const first = seed === undefined ? randomSeed() : whole('--seed', seed, 0, MAX_SEED);
  const count = runs === undefined ? 1 : whole('--runs', runs, 1, MAX_RUNS);
  return Array.from({ length: count }, (_, index) => first + index);
}

function rangeOf(text: string): number[] {
  const [first = '', last, ...more] = text.split('..');
  if (last === undefined || more.length > 0)
    throw new UsageError(`--seeds is a range such as 1..20, not "${text}"`);
  const from = whole('--seeds', first, 0, MAX_SEED);
  const to = whole('--seeds', last, from, Math.min(MAX_SEED, from + MAX_RUNS - 1));
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function whole(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${option} takes a whole number from ${min} to ${max}, not "${text}"`);
}

function minutesOf(text: string): number {
  const value = /^\d{1,6}(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value > 0) return value;
  throw new UsageError(`--minutes takes a number above 0, such as 0.5, not "${text}"`);
}
