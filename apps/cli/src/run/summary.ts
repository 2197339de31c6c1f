import type { FleetCounts, SkippedFiles } from '#proof';
import { bytes, count, duration, plain } from '../output/table.js';

export interface RunSummary {
  directory: string;
  out: string | undefined;
  elapsedMs: number;
  counts: FleetCounts;
  delivered: { files: number; batches: number };
  skipped: SkippedFiles[];
}

export function summaryLines({ directory, out, elapsedMs, counts, delivered, skipped }: RunSummary): string {
  const failed = counts.files.failed ?? 0;
  const reasons = skipped.map(({ reason, files }) => `${reason} ${count(files)}`).join(', ');
  const lines = [
    '',
    `Directory ${plain(directory)}`,
    `Delivered ${several(delivered.files, 'file')} in ${several(delivered.batches, 'batch', 'batches')} in ${duration(elapsedMs)}${out ? ` → ${plain(out)}` : ''}`,
    `Known     ${count(counts.files.analyzed ?? 0)} files analysed, ${bytes(counts.bytes.analyzed ?? 0)}, ${count(counts.tokens)} tokens`,
    ...(skipped.length > 0 ? [`Skipped   ${reasons}`] : []),
    ...(failed > 0
      ? [
          `Failed    ${several(failed, 'file')}; to look into them, run the same command with --keep and then \`millrace dlq groups\``,
        ]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

const several = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;
