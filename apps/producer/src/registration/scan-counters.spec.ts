import { describe, expect, it } from '@jest/globals';
import { noScanCounters, plus, restoredCounters } from './scan-counters.js';
import { isResumable } from './scans.repository.js';

describe('scan counters', () => {
  it('add up numbers and reasons and leave the old ones alone', () => {
    const before = noScanCounters();
    const listing = { files: 2, bytes: 30, skipped: { fifo: 1 }, leftOut: { ignored: 4 } };
    const once = plus(before, { folders: 1, created: 2, listing });
    const twice = plus(once, { folders: 1, listing });
    expect(before).toEqual(noScanCounters());
    expect(twice).toMatchObject({
      folders: 2,
      files: 4,
      bytes: 60,
      created: 2,
      skipped: { fifo: 2 },
      leftOut: { ignored: 8 },
    });
  });

  it('read what an older build stored', () => {
    expect(restoredCounters({ files: 3 })).toEqual({ ...noScanCounters(), files: 3 });
    expect(restoredCounters(undefined)).toEqual(noScanCounters());
  });
});

describe('continuing a scan', () => {
  const terms = { mode: 'all', rules: 'R', resumeWithinMs: 1000, now: 5000 } as const;
  const checkpoint = { at: 4500, rules: 'R' };

  it.each(['running', 'interrupted', 'failed'] as const)('goes on with one that is %s', (outcome) => {
    expect(isResumable({ mode: 'all', outcome, checkpoint }, terms)).toBe(true);
  });

  it.each(['completed', 'refused'] as const)('begins anew after one that is %s', (outcome) => {
    expect(isResumable({ mode: 'all', outcome, checkpoint }, terms)).toBe(false);
  });

  it('begins anew under other rules, in another mode, or when it was long ago', () => {
    const last = { mode: 'all', outcome: 'interrupted', checkpoint } as const;
    expect(isResumable(last, { ...terms, rules: 'S' })).toBe(false);
    expect(isResumable(last, { ...terms, mode: 'folders' })).toBe(false);
    expect(isResumable(last, { ...terms, now: 5501 })).toBe(false);
    expect(isResumable({ ...last, checkpoint: null }, terms)).toBe(false);
  });
});
