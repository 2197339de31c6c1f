import type { DatabaseKind } from '#testing';
import type { StormResult } from './storm.js';

export interface StormRun {
  seed: number;
  kind: DatabaseKind;
  result: StormResult;
}

const HEAD = ['seed', 'database', 'verdict', 'faults', 'files', 'requests', 'drain s', 'most MB'];

/** One line a storm, with what struck in it. */
export function closingTable(runs: readonly StormRun[]): string {
  const rows = [HEAD, ...runs.map(row)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)));
  return rows
    .map((cells) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

function row({ seed, kind, result }: StormRun): string[] {
  const sum = (counts: Record<string, number>): number =>
    Object.values(counts).reduce((total, count) => total + count, 0);
  return [
    String(seed),
    kind,
    result.verdict.toUpperCase(),
    String(sum(result.faults)),
    String(sum(result.counts)),
    String(result.requests),
    (result.drainMs / 1000).toFixed(0),
    String(result.mostMegabytes),
  ];
}
