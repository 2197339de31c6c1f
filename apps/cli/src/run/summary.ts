import { dirname } from 'node:path';
import type { Database } from '#database';
import { shownPath } from '#envelope';
import { skipReasons, type FleetCounts } from '#proof';
import { bytes, count, duration, json, plain, several, tableOf, type OutputFormat } from '../output/table.js';
import type { Outcome } from './outcome.repository.js';

interface RunSummary extends Outcome {
  directory: string;
  out: string | undefined;
  elapsedMs: number;
  counts: FleetCounts;
}

/** What a run has done, for a person; what it has not done comes first. */
export function summaryLines(summary: RunSummary): string {
  const { directory, counts, touched, skipped } = summary;
  const analysed = `${several(counts.files.analyzed ?? 0, 'file')} analysed`;
  const reasons = skipped.map(({ reason, files }) => `${reason} ${count(files)}`).join(', ');
  const lines = [
    '',
    ...failedLines(summary),
    ...waitingLines(summary),
    `Directory ${plain(directory)}`,
    deliveredLine(summary),
    ...(touched > 0 ? [`Touched   ${several(touched, 'file')}, content unchanged; not sent again`] : []),
    `Known     ${analysed}, ${bytes(counts.bytes.analyzed ?? 0)}, ${several(counts.tokens, 'token')}`,
    ...(skipped.length > 0 ? [`Skipped   ${reasons}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function failedLines({ counts, causes }: RunSummary): string[] {
  const failed = counts.files.failed ?? 0;
  if (failed === 0) return [];
  const known = Object.values(counts.files).reduce((sum, files) => sum + files, 0);
  return [
    `FAILED ${count(failed)} of ${several(known, 'file')}`,
    ...causes.map(({ cause, files }) => `  ${count(files)} ${plain(cause)}`),
    '  To look into them, run the same command with --keep and then `millrace dlq groups`; fix the cause, then run the same command with --retry-failed',
    '',
  ];
}

function waitingLines({ counts, waiting: { files, path } }: RunSummary): string[] {
  const lines: string[] = [];
  if (files > 0)
    lines.push(
      `WAITING ${several(files, 'file')} for a folder or mount that is away (${plain(path ?? '')}${files > 1 ? ' …' : ''}); bring it back and run the same command again`,
    );
  if (counts.eventsDead > 0)
    lines.push(
      `WAITING ${several(counts.eventsDead, 'event')} that could not be published; run the same command with --retry-failed`,
    );
  return lines.length > 0 ? [...lines, ''] : [];
}

function deliveredLine({ delivered: { files, batches }, elapsedMs, out }: RunSummary): string {
  const where = out ? ` → ${plain(out)}` : '';
  if (batches === 0) return `Delivered nothing new in ${duration(elapsedMs)}${where}`;
  const what = files > 0 ? several(files, 'file') : 'the last parts of files that an earlier run began,';
  return `Delivered ${what} in ${several(batches, 'batch', 'batches')} in ${duration(elapsedMs)}${where}`;
}

/** What would be batched: token totals by folder, largest first. */
export async function folderTotals(database: Database, root: string, output: OutputFormat): Promise<string> {
  const folders = await totalsByFolder(database, root);
  const skipped = await skipReasons(database);
  const [{ batches } = { batches: 0 }] = await database.rows<{ batches: number }>(
    'SELECT count(*) AS batches FROM batches',
  );
  if (output === 'json') return json({ batches, folders, skipped });
  const skippedLine = skipped.map(({ reason, files }) => `${reason} ${count(files)}`).join(', ');
  const tokens = folders.reduce((sum, folder) => sum + folder.tokens, 0);
  return `${tableOf(folders, { FOLDER: 'folder', FILES: 'files', BYTES: 'bytes', TOKENS: 'tokens' })}
Would deliver ${count(batches)} batches, ${count(tokens)} tokens. Skipped: ${skippedLine || 'none'}.
`;
}

async function totalsByFolder(database: Database, root: string) {
  const base = dirname(root) === root ? undefined : root;
  const rows = await database.rows<{ folder: string; files: number; bytes: number; tokens: number }>(
    `SELECT d.path AS folder, count(*) AS files, sum(f.size) AS bytes, sum(f.token_count) AS tokens
     FROM files f JOIN folders d ON d.id = f.folder_id
     WHERE f.removed = 0 AND f.status = 'batched' GROUP BY d.path ORDER BY sum(f.token_count) DESC`,
  );
  return rows.map((row) => ({ ...row, folder: row.folder === root ? '.' : shownPath(row.folder, base) }));
}
