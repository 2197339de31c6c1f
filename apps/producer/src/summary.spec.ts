import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import { ErrorLedger } from './error-ledger.js';
import { noScanCounters, plus } from './registration/scan-counters.js';
import { summarize, summaryText } from './summary.js';

function summaryOf(ledger: ErrorLedger, fatal: readonly Error[] = []) {
  const listing = { files: 10, bytes: 500, skipped: { fifo: 1, 'too-large': 2 }, leftOut: { ignored: 3 } };
  const counters = plus(noScanCounters(), {
    folders: 4,
    created: 7,
    changed: 1,
    unchanged: 2,
    removed: 5,
    hashedBytes: 50_000_000,
    listing,
  });
  return summarize({
    row: { id: 9, rootId: 1, resumed: true, counters },
    before: noScanCounters(),
    root: '/r',
    outcome: 'completed',
    elapsedMs: 2000,
    hashMs: 500,
    enqueued: 8,
    threads: 2,
    ledger,
    failed: fatal.length,
    fatal,
  });
}

describe('summary', () => {
  it('tells what happened to every file, by reason', () => {
    expect(summaryText(summaryOf(new ErrorLedger(silentLogger)))).toBe(
      'scan completed: 4 folders, 10 files, 500 bytes; 7 new, 1 changed, 2 unchanged, 5 removed; ' +
        'skipped 1 fifo, 2 too-large; left out 3 ignored; 0 errors; 5 files/s in 2s',
    );
  });

  it('says at the end what work items failed of, all counted and the first ten named', () => {
    const summary = summaryOf(
      new ErrorLedger(silentLogger),
      Array.from({ length: 12 }, (_, index) => new Error(`disk full ${index}`)),
    );
    expect(summary.failed).toBe(12);
    expect(summary.fatalErrors).toHaveLength(10);
    expect(summaryText(summary)).toContain('12 work items failed (disk full 0; disk full 1; ');
  });

  it('tells how fast it was: files and folders a second, and what each thread hashed', () => {
    const summary = summaryOf(new ErrorLedger(silentLogger));
    expect(summary).toMatchObject({ filesPerSecond: 5, foldersPerSecond: 2, hashMbPerSecond: 50 });
    expect(summaryText({ ...summary, hashed: 3 })).toContain('; hashed 50 MB/s a thread; 5 files/s in 2s');
  });

  it('counts all errors by code and names the first of them', () => {
    const ledger = new ErrorLedger(silentLogger, 2);
    for (const path of ['/r/a', '/r/b', '/r/c']) ledger.unreadable(path, 'EACCES', 'denied');
    const summary = summaryOf(ledger);
    expect(summary.errorCodes).toEqual({ EACCES: 3 });
    expect(summary.errorPaths.map(({ path }) => path)).toEqual(['/r/a', '/r/b']);
  });
});
