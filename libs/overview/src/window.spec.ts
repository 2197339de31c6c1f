import { describe, expect, it } from '@jest/globals';
import { MINUTE_MS, remainingMs, throughputOf, windowAt } from './window.js';

describe('the last hour', () => {
  const now = 100 * MINUTE_MS + 30_000;
  const window = windowAt(now);
  const none = new Map<number, number>();

  it('has sixty minutes, the one that runs now last', () => {
    const points = throughputOf(window, new Map([[59, 4]]), new Map([[0, 2]]), none);
    expect(points).toHaveLength(60);
    expect(points[0]).toEqual({ at: 41 * MINUTE_MS, delivered: 0, failed: 2, skipped: 0 });
    expect(points[59]).toEqual({ at: 100 * MINUTE_MS, delivered: 4, failed: 0, skipped: 0 });
  });

  it('tells how long the rest takes by what ended in the last five minutes', () => {
    const points = throughputOf(window, new Map([[58, 90]]), none, new Map([[10, 5_000]]));
    // 90 in a minute and a half.
    expect(remainingMs(60, points, now)).toBe(60_000);
    expect(remainingMs(0, points, now)).toBe(0);
  });

  it('does not guess when nothing has ended for a while', () => {
    expect(remainingMs(60, throughputOf(window, new Map([[10, 500]]), none, none), now)).toBeNull();
  });
});
