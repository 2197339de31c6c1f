// `npm run bench [-- <name>…]`: sets up, runs bench/<name>.bench.ts, one after another, all of them without a
// name; prints one table and keeps the figures in bench/results.json and docs/performance.md. A missed aim is told, not an error.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PAGE, pageWithFigures, RESULTS } from './figures.mjs';
import { ROOT, runScript, setup } from './setup.mjs';

const ONLY_BY_NAME = ['million'];

await runScript(async () => {
  const known = readdirSync(join(ROOT, 'bench')).flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);
  const wanted = process.argv.slice(2);
  const usual = known.filter((name) => !ONLY_BY_NAME.includes(name));
  if (wanted.includes('--help') || wanted.some((name) => !known.includes(name))) {
    console.log(
      `Usage: npm run bench [-- <name>…]; without a name all but ${ONLY_BY_NAME.join()} are run. Known: ${known.join(', ')}.`,
    );
    process.exitCode = wanted.includes('--help') ? 0 : 64;
    return;
  }
  setup({ tests: true });
  const figures = [];
  for (const name of wanted.length > 0 ? wanted : usual) figures.push(...(await run(name)));
  console.log(`\n${table(figures)}`);
  keep(figures);
  writeFileSync(join(ROOT, PAGE), pageWithFigures());
});

/** Runs one bench; its lines of JSON are the figures, other lines are for the eye. */
async function run(bench) {
  console.error(`millrace: bench ${bench}`);
  const args = ['--expose-gc', '--import', join(ROOT, 'scripts/typescript.mjs')];
  const child = spawn(process.execPath, [...args, join(ROOT, `bench/${bench}.bench.ts`)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
  const figures = [];
  for await (const line of createInterface(child.stdout)) {
    console.log(line);
    if (line.startsWith('{')) figures.push({ bench, ...JSON.parse(line) });
  }
  const outcome = await ended;
  if (outcome !== 0) throw new Error(`bench ${bench} ended with ${outcome}`);
  return figures;
}

function table(figures) {
  const head = ['figure', 'value', 'unit', 'peer or limit', 'ratio', 'aim', ''];
  const rows = figures.map(({ name, value, unit, peer, ratio, aim, ok }) =>
    [
      name,
      value,
      unit,
      peer ?? '',
      ratio ?? '',
      aim ?? '',
      aim === undefined ? '' : ok ? 'met' : 'missed',
    ].map(String),
  );
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at].length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Figures of benches that did not run this time stay. */
function keep(figures) {
  const before = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')).figures : [];
  const ran = new Set(figures.map(({ bench }) => bench));
  const all = [...before.filter(({ bench }) => !ran.has(bench)), ...figures];
  all.sort((a, b) => (a.name < b.name ? -1 : 1));
  const machine = { cores: availableParallelism(), node: process.version };
  writeFileSync(RESULTS, `${JSON.stringify({ machine, figures: all }, null, 2)}\n`);
}
