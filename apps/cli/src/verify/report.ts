import type { CheckResult, Exception, Proof, Scope } from '#proof';
import { CLI_EXIT } from '../cli.errors.js';
import { bytes, count, plain } from '../output/table.js';

export const VERDICT_EXIT = {
  proven: CLI_EXIT.ok,
  'in flight': CLI_EXIT.ok,
  'proven except': CLI_EXIT.someFailed,
  violated: CLI_EXIT.violated,
} as const;

/** The proof for a person: the counts, what it speaks of, every promise, every exception, and the verdict last. */
export function proofReport(proof: Proof): string {
  const { counts } = proof;
  const states = Object.entries(counts.files)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([status, files]) => `${status} ${count(files)} (${bytes(counts.bytes[status] ?? 0)})`);
  return [
    ...proof.scopes.map(scopeLine),
    `Files     ${count(proof.files)}: ${states.join(', ') || 'none'}`,
    `Batches   ${count(counts.batches)}, ${count(counts.batchesOpen)} not delivered; ${count(counts.tokens)} tokens delivered`,
    `In flight ${count(proof.inFlight)}; events pending ${count(counts.eventsPending)}, dead ${count(counts.eventsDead)}; open dead letters ${count(counts.lettersOpen)}`,
    ...(counts.scansUnfinished > 0
      ? [`Unfinished scans ${count(counts.scansUnfinished)}; scan again, since files may be missing here`]
      : []),
    ...proof.checks.map(checkLine),
    ...proof.exceptions.map(exceptionLines),
    `Digest    sha256:${proof.digest}`,
    verdictLine(proof),
    '',
  ].join('\n');
}

function verdictLine({ verdict, exceptions }: Proof): string {
  switch (verdict) {
    case 'proven':
      return 'PROVEN  nothing lost, nothing sent twice, nothing pending';
    case 'proven except':
      return `PROVEN EXCEPT ${count(exceptions.reduce((sum, { count: n }) => sum + n, 0))}  the rest was delivered once; the exceptions above were not`;
    case 'in flight':
      return 'IN FLIGHT  no promise is broken; some files are still on their way, or not scanned yet';
    case 'violated':
      return 'VIOLATED  at least one promise does not hold';
  }
}

function scopeLine({ root, scannedAt, rules, leftOut }: Scope): string {
  const reasons = Object.entries(leftOut).map(([reason, n]) => `${reason} ${count(n)}`);
  const patterns = (['include', 'exclude'] as const).flatMap((rule) => {
    const list = rules[rule];
    return Array.isArray(list) && list.length > 0 ? [`${rule} ${list.join(' ')}`] : [];
  });
  const told = [...patterns, ...(reasons.length > 0 ? [`left out by rule: ${reasons.join(', ')}`] : [])];
  return `Tree      ${plain([`${root}, scanned ${scannedAt ?? 'never to its end'}`, ...told].join('; '))}`;
}

function checkLine({ ok, promise, violations, rows }: CheckResult): string {
  if (ok) return `  ✓ ${promise}`;
  const shown = rows.map((row) => `      ${plain(JSON.stringify(row))}`);
  return [`  ✗ ${promise}: broken by ${count(violations)}`, ...shown, ...rest(violations, rows)].join('\n');
}

function exceptionLines({ cause, cure, count: found, rows }: Exception): string {
  const shown = rows.map(({ path, detail }) => `      ${plain(detail ? `${path}  (${detail})` : path)}`);
  return [`  ! ${count(found)} ${cause}; ${cure}`, ...shown, ...rest(found, rows)].join('\n');
}

function rest(found: number, rows: readonly unknown[]): string[] {
  const more = found - rows.length;
  return more > 0
    ? [`      … and ${count(more)} more; \`millrace verify --rows ${found}\` lists them all`]
    : [];
}
