import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoffMs } from './index.js';

const options = { baseMs: 100, maxMs: 10_000 };

describe('backoffMs', () => {
  it('doubles its ceiling with each attempt up to the maximum', () => {
    const ceilings = [0, 1, 2, 3, 10, 1000].map((attempt) => backoffMs(attempt, options, () => 0.999999));
    expect(ceilings).toEqual([99, 199, 399, 799, 9999, 9999]);
  });

  it('draws from the whole range, so that those who fail together do not return together', () => {
    expect([0, 0.25, 0.5].map((draw) => backoffMs(2, options, () => draw))).toEqual([1, 100, 200]);
  });

  it('is at least 1 and below the maximum for any attempt and any draw', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, draw) => {
          const ms = backoffMs(attempt, options, () => draw);
          return ms >= 1 && ms <= options.maxMs && Number.isInteger(ms);
        },
      ),
    );
  });
});
