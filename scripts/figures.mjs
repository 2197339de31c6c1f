// The figures of bench/results.json as a table in docs/performance.md, so that what is written is what was measured.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './setup.mjs';

export const RESULTS = join(ROOT, 'bench/results.json');
export const PAGE = 'docs/performance.md';
const [BEGIN, END] = ['<!-- figures: written by npm run bench -->', '<!-- end of figures -->'];

/** The page with the table of the kept figures between its marks. */
export function pageWithFigures() {
  const page = readFileSync(join(ROOT, PAGE), 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${PAGE} has no place for figures: ${BEGIN} … ${END}`);
  const { figures } = JSON.parse(readFileSync(RESULTS, 'utf8'));
  return `${before}${BEGIN}\n\n${table(figures)}\n\n${END}${after}`;
}

function table(figures) {
  const rows = figures.map(({ name, value, unit, peer, ratio, aim, ok }) => [
    `\`${name}\``,
    `${value} ${unit}`,
    peer ?? '',
    ratio ?? '',
    aim === undefined ? '' : `${aim} ${ok ? 'met' : '**missed**'}`,
  ]);
  return [['figure', 'measured', 'peer or limit', 'ratio', 'aim'], Array(5).fill('---'), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}
