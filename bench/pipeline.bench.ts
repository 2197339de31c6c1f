// `npm run bench -- pipeline`: whole runs, on a tree of texts and on one of tiny files, against repomix and against the limit
// that our own counter, packer and envelope set without a database, a queue or a proof. Ratios of walls and of processor time.
import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { PROJECT_ROOT } from '../libs/testing/src/child.js';
import { createDatabase, startPostgres } from '../libs/testing/src/postgres-server.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { node24, peer } from './peers.js';
import { limitOf } from './pipeline.limit.js';
import { report } from './report.js';
import { idleness, timed, type Timed } from './timed.js';
import { textTree, tinyTree } from './trees.js';

const SCALE = Number(process.env['MILLRACE_BENCH_SCALE'] ?? 1);
const CLI = join(PROJECT_ROOT, 'dist/apps/cli/src/main.js');
const folder = await tempFolder('bench');
let runs = 0;

interface RunSettings {
  node?: string;
  env?: Record<string, string>;
  args?: readonly string[];
  data?: string;
}

function millrace(
  tree: string,
  { node = process.execPath, env = {}, args = [], data }: RunSettings = {},
): Timed {
  const own = data ?? join(folder.path, `data-${runs++}`);
  return timed([node, CLI, '--data', own, 'run', tree, '--out', `${own}-out`, ...args], env, folder.path);
}

/** Without its cache of counts: both begin with nothing. */
function repomix(tree: string): Timed {
  const bin = join(peer('repomix', 'latest'), 'bin/repomix.cjs');
  const args = ['--no-security-check', '--no-git-sort-by-changes', '--style', 'markdown', '--quiet'];
  const env = { REPOMIX_TOKEN_CACHE: '0' };
  return timed([node24(), bin, tree, ...args, '-o', join(folder.path, 'repomix.md')], env, folder.path);
}

function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The better of two: the first also fills the caches. */
function best(measure: () => Timed): Timed {
  return faster(measure(), measure());
}

const faster = (one: Timed, other: Timed): Timed => (other.wall < one.wall ? other : one);

function compare(name: string, own: Timed, other: { wall: number; cpu: number }, aim?: number): void {
  report({
    name,
    value: own.wall,
    unit: 's',
    peer: other.wall,
    ratio: other.wall / own.wall,
    ...(aim !== undefined && { aim }),
  });
  report({ name: `${name}.cpu`, value: own.cpu, unit: 'CPU-s', peer: other.cpu, ratio: other.cpu / own.cpu });
}

async function measureTree(
  kind: 'text' | 'tiny',
  tree: string,
  aims: { node24: number; node20: number; limit?: number },
): Promise<Timed> {
  const other = best(() => repomix(tree));
  const limit = await limitOf(
    tree,
    filesBelow(tree),
    join(folder.path, `limit-${kind}`),
    availableParallelism(),
  );
  const newer = best(() => millrace(tree, { node: node24() }));
  const older = best(() => millrace(tree));
  compare(`pipeline.${kind}.vs-repomix.node24`, newer, other, aims.node24);
  compare(`pipeline.${kind}.vs-repomix.node20`, older, other, aims.node20);
  compare(`pipeline.${kind}.of-limit`, older, limit, aims.limit);
  return older;
}

async function measurePostgres(kind: string, tree: string, sqlite: Timed): Promise<void> {
  const server = await startPostgres();
  try {
    const once = async (args: readonly string[]): Promise<Timed> => {
      const { url, drop } = await createDatabase(server.url());
      const result = millrace(tree, { env: { MILLRACE_DATABASE_URL: url }, args });
      await drop();
      return result;
    };
    // As on SQLite: the first of each kind also fills the caches, of the server and of the programs that only it starts.
    const on = async (...args: string[]): Promise<Timed> => faster(await once(args), await once(args));
    compare(`pipeline.${kind}.postgres`, await on(), sqlite, 0.8);
    const [two, one] = [await on('--workers', '2'), await on('--workers', '1', '--separate')];
    compare(`pipeline.${kind}.postgres.two-batchers`, two, one, 1);
  } finally {
    await server.stop();
  }
}

function measureSmall(tree: string): void {
  const five = best(() => millrace(tree));
  report({ name: 'pipeline.five-files', value: five.wall, unit: 's', peer: 2, ratio: 2 / five.wall, aim: 1 });
  report({
    name: 'pipeline.five-files.cpu',
    value: five.cpu,
    unit: 'CPU-s',
    peer: 2.5,
    ratio: 2.5 / five.cpu,
    aim: 1,
  });
}

function measureRerun(tree: string): void {
  const data = join(folder.path, 'rerun');
  millrace(tree, { data });
  const again = best(() => millrace(tree, { data }));
  report({
    name: 'pipeline.rerun',
    value: again.wall,
    unit: 's',
    peer: 1.5,
    ratio: 1.5 / again.wall,
    aim: 1,
  });
  report({ name: 'pipeline.rerun.cpu', value: again.cpu, unit: 'CPU-s' });
}

/** Processor time of a file more, and whether the second half of a large tree costs more than the first. */
async function measureMarginal(): Promise<void> {
  const cost: number[] = [];
  const counts = [10_000, 100_000, 200_000].map((files) => Math.round(files * SCALE));
  for (const files of counts) {
    const tree = join(folder.path, `tiny-${files}`);
    await tinyTree(tree, files);
    cost.push(millrace(tree).cpu);
  }
  const per = (from: number, to: number): number =>
    ((cost[to] ?? 0) - (cost[from] ?? 0)) / ((counts[to] ?? 0) - (counts[from] ?? 0));
  const micros = per(0, 2) * 1e6;
  report({
    name: 'pipeline.tiny.marginal',
    value: micros,
    unit: 'µs/file',
    peer: 150,
    ratio: 150 / micros,
    aim: 1,
  });
  report({
    name: 'pipeline.tiny.growth',
    value: per(1, 2) / per(0, 1),
    unit: '×',
    peer: 1.2,
    ratio: (1.2 * per(0, 1)) / per(1, 2),
    aim: 1,
  });
}

try {
  report({
    name: 'pipeline.idle-machine',
    value: idleness(),
    unit: 'of a core',
    peer: 1,
    ratio: idleness(),
    aim: 0.9,
  });
  const [text, tiny, five] = ['text', 'tiny', 'five'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  const bytes = await textTree(text, { files: Math.round(16_900 * SCALE), minBytes: 900 });
  report({ name: 'pipeline.text.size', value: bytes / 1e6, unit: 'MB' });
  await tinyTree(tiny, Math.round(40_000 * SCALE));
  await mkdir(five, { recursive: true });
  await tinyTree(five, 5);
  measureSmall(five);
  const ours = await measureTree('text', text, { node24: 3.5, node20: 3, limit: 0.75 });
  await measurePostgres('text', text, ours);
  measureRerun(text);
  const oursTiny = await measureTree('tiny', tiny, { node24: 1.2, node20: 1.2 });
  await measurePostgres('tiny', tiny, oursTiny);
  await measureMarginal();
} finally {
  await folder.remove();
}
