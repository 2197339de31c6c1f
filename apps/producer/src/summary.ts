import type { ScanOutcome } from '#database';
import type { ErrorLedger, LedgerEntry } from './error-ledger.js';
import { elapsedText } from './progress.js';
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
  foldersPerSecond: number;
  /** Megabytes a second that each thread hashed. */
  hashMbPerSecond: number;
  errorCodes: Record<string, number>;
  errorPaths: LedgerEntry[];
  /** Work items that failed: folders and groups of files that the next run takes up again. */
  failed: number;
  /** What they failed of, the first of them. */
  fatalErrors: string[];
}

interface SummaryFacts {
  row: CurrentScan;
  /** What was counted before this run. */
  before: ScanCounters;
  root: string;
  outcome: ScanOutcome;
  elapsedMs: number;
  hashMs: number;
  enqueued: number;
  /** Threads that hash. */
  threads: number;
  ledger: ErrorLedger;
  failed: number;
  fatal: readonly Error[];
}

const FATAL_ERRORS = 10;

export function summarize(facts: SummaryFacts): ScanSummary {
  const { row, before, root, outcome, elapsedMs, hashMs, ledger } = facts;
  const { counters, id: scanId, resumed } = row;
  return {
    ...{ ...counters, enqueued: facts.enqueued, scanId, root, outcome, resumed },
    elapsedMs: Math.round(elapsedMs),
    hashMs: Math.round(hashMs),
    filesPerSecond: perSecond(counters.files - before.files, elapsedMs),
    foldersPerSecond: perSecond(counters.folders - before.folders, elapsedMs),
    hashMbPerSecond: hashMbPerSecond(counters.hashedBytes - before.hashedBytes, hashMs, facts.threads),
    errorCodes: ledger.byCode,
    errorPaths: ledger.kept,
    failed: facts.failed,
    fatalErrors: facts.fatal.slice(0, FATAL_ERRORS).map(({ message }) => message),
  };
}

/** Of each thread, in millions of bytes. */
export function hashMbPerSecond(bytes: number, ms: number, threads: number): number {
  return ms === 0 ? 0 : Math.round(bytes / 1e5 / (ms / 1000) / threads) / 10;
}

function perSecond(count: number, elapsedMs: number): number {
  return Math.round(count / Math.max(elapsedMs / 1000, 0.001));
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
    `${errors} errors; ${summary.failed ? `${summary.failed} work items failed (${summary.fatalErrors.join('; ')}); ` : ''}${summary.open ? `${summary.open} skipped files to look at again; ` : ''}${summary.hashed ? `hashed ${summary.hashMbPerSecond} MB/s a thread; ` : ''}${summary.filesPerSecond} files/s in ${elapsedText(summary.elapsedMs)}`
  );
}

function reasons(counts: Partial<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ');
}
