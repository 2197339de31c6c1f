import { describe, expect, it } from '@jest/globals';
import type { FleetCounts } from '#proof';
import type { Done } from '#service';
import { progressLine, progressLines } from './progress.js';

const BEFORE: FleetCounts = {
  files: { analyzed: 90, skipped: 5, failed: 1, pending: 4 },
  bytes: { analyzed: 9_000, pending: 1_000 },
  ...{ tokens: 1_000, batches: 3, batchesOpen: 1, eventsPending: 1, eventsDead: 0, lettersOpen: 1 },
  scansUnfinished: 0,
};
const at = (done: Done, before = BEFORE): string =>
  progressLine({ elapsedMs: 1_000, scanning: false, before, done });

describe('progress of a run', () => {
  it('begins with what the tables held', () => {
    expect(at({})).toContain(
      'discovered 100, counted 96, delivered 96, batches 2, tokens 1,000, failed 1, 0 B/s',
    );
  });

  it('adds what the processes have told; a changed file is to be counted and delivered again', () => {
    const done = { created: 10, changed: 2, batched: 12, skipped: 1, failed: 1, delivered: 8, touched: 1 };
    expect(at({ ...done, deliveredBatches: 1, tokens: 50, batchedBytes: 2_000 })).toContain(
      'discovered 110, counted 108, delivered 105, batches 3, tokens 1,050, failed 2',
    );
  });

  it('never tells more than there is, when a file is told of twice', () => {
    const [, , counted, delivered] = progressLines({
      ...{ elapsedMs: 1_000, scanning: false, before: BEFORE, done: { batched: 50, delivered: 50 } },
    });
    expect([counted, delivered].map((line) => /\d+ %/.exec(line ?? '')?.[0])).toEqual(['100 %', '100 %']);
  });
});
