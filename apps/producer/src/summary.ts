import type { ScanOutcome } from '#database';
import type { ErrorLedger, LedgerEntry } from './error-ledger.js';
import { elapsedText } from './progress-line.js';
import type { CurrentScan } from './registration/scans.repository.js';
import type { ScanCounters } from './registration/scan-counters.js';

/** What a run says at its end, for people and programs. */
export interface ScanSummary extends ScanCounters {
  scanId: number;
  root: string;
  outcome: ScanOutcome;
  resumed: boolean;
  elapsedMs: number;
  /** The part of it that was hashing. */
  hashMs: number;
  filesPerSecond: number;
  errorCodes: Record<string, number>;
  errorPaths: LedgerEntry[];
}

export interface SummaryFacts {
  scan: CurrentScan;
  root: string;
  outcome: ScanOutcome;
  elapsedMs: number;
  hashMs: number;
  enqueued: number;
  /** Files that this run looked at. */
  filesThisRun: number;
  ledger: ErrorLedger;
}

export function summarize(facts: SummaryFacts): ScanSummary {
  const { scan, root, outcome, elapsedMs, ledger } = facts;
  return {
    ...scan.counters,
    enqueued: facts.enqueued,
    scanId: scan.id,
    root,
    outcome,
    resumed: scan.resumed,
    elapsedMs: Math.round(elapsedMs),
    hashMs: Math.round(facts.hashMs),
    filesPerSecond: Math.round(facts.filesThisRun / Math.max(elapsedMs / 1000, 0.001)),
    errorCodes: ledger.byCode,
    errorPaths: ledger.kept,
  };
}

/** One sentence of it. */
export function summaryText(summary: ScanSummary): string {
  const { outcome, folders, files, created, changed, unchanged, removed, errors } = summary;
  const skipped = reasons(summary.skipped);
  const leftOut = reasons(summary.leftOut);
  return (
    `scan ${outcome}: ${folders} folders, ${files} files, ${summary.bytes} bytes; ` +
    `${created} new, ${changed} changed, ${unchanged} unchanged, ${removed} removed` +
    `${skipped && `; skipped ${skipped}`}${leftOut && `; left out ${leftOut}`}; ` +
    `${errors} errors; ${summary.open ? `${summary.open} skipped files to look at again; ` : ''}${summary.filesPerSecond} files/s in ${elapsedText(summary.elapsedMs)}`
  );
}

function reasons(counts: Partial<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ');
}
