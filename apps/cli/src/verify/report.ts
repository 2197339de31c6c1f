import { bytes, count, plain } from '../output/table.js';
import type { CheckResult, Proof } from '#proof';

const VERDICT = {
  proven: 'PROVEN  nothing lost, nothing sent twice, nothing pending',
  'in flight': 'IN FLIGHT  no promise is broken; some files are still on their way, or not scanned yet',
  violated: 'VIOLATED  at least one promise does not hold',
} as const;

/** The proof for a person: the verdict, the counts, every promise, and the rows that break one. */
export function proofReport(proof: Proof): string {
  const { counts } = proof;
  const states = Object.entries(counts.files)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([status, files]) => `${status} ${count(files)} (${bytes(counts.bytes[status] ?? 0)})`);
  return [
    `Files     ${count(proof.files)}: ${states.join(', ') || 'none'}`,
    `Batches   ${count(counts.batches)}, ${count(counts.batchesOpen)} not delivered; ${count(counts.tokens)} tokens`,
    `In flight ${count(proof.inFlight)}; events pending ${count(counts.eventsPending)}, dead ${count(counts.eventsDead)}; open dead letters ${count(counts.lettersOpen)}`,
    ...(counts.scansUnfinished > 0
      ? [`Unfinished scans ${count(counts.scansUnfinished)}; scan again, since files may be missing here`]
      : []),
    ...proof.checks.map(checkLine),
    `Digest    sha256:${proof.digest}`,
    VERDICT[proof.verdict],
    '',
  ].join('\n');
}

function checkLine({ ok, promise, violations, rows }: CheckResult): string {
  if (ok) return `  ✓ ${promise}`;
  const shown = rows.map((row) => `      ${plain(JSON.stringify(row))}`);
  const more = violations > rows.length ? [`      … and ${count(violations - rows.length)} more`] : [];
  return [`  ✗ ${promise}: broken by ${count(violations)}`, ...shown, ...more].join('\n');
}
