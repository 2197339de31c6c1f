import { describe, expect, it } from '@jest/globals';
import { addTo, MINUTE_MS, remainingMs, windowAt, type Window } from './tables.js';

describe('the last hour', () => {
  const now = 100 * MINUTE_MS + 30_000;
  const windowWith = (
    ...ended: [what: 'delivered' | 'failed' | 'skipped', bucket: number, n: number][]
  ): Window => {
    const window = windowAt(now);
    for (const [what, bucket, n] of ended) addTo(window, what, { bucket, n });
    return window;
  };

  it('has sixty minutes, the one that runs now last; what is outside is not in it', () => {
    const points = windowWith(['delivered', 59, 4], ['failed', 0, 2], ['skipped', -1, 7], ['skipped', 60, 7]);
    expect(points).toHaveLength(60);
    expect(points[0]).toEqual({ at: 41 * MINUTE_MS, delivered: 0, failed: 2, skipped: 0 });
    expect(points[59]).toEqual({ at: 100 * MINUTE_MS, delivered: 4, failed: 0, skipped: 0 });
  });

  it('tells how long the rest takes by what ended in the last five minutes', () => {
    const points = windowWith(['delivered', 58, 90], ['skipped', 10, 5_000]);
    // 90 in a minute and a half.
    expect(remainingMs(60, points, now)).toBe(60_000);
    expect(remainingMs(0, points, now)).toBe(0);
  });

  it('does not guess when nothing has ended for a while', () => {
    expect(remainingMs(60, windowWith(['delivered', 10, 500]), now)).toBeNull();
  });
});
