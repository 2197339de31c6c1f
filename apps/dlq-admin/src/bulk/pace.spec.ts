import { describe, expect, it } from '@jest/globals';
import { Pace } from './pace.js';

describe('Pace', () => {
  it('lets all through without a rate', () => {
    expect(new Pace(null).take(500, 0)).toBe(500);
  });

  it('begins with one, then gives what the time since then allows', () => {
    const pace = new Pace(50);
    expect([0, 100, 100, 130, 140].map((now) => pace.take(500, now))).toEqual([1, 5, 0, 1, 1]);
  });

  it('keeps what was not wanted, for one second at most', () => {
    const pace = new Pace(50);
    pace.take(1, 0);
    expect([pace.take(2, 100), pace.take(500, 100), pace.take(500, 60_000)]).toEqual([2, 3, 50]);
  });

  it('begins with no more than is wanted', () => {
    expect(new Pace(50).take(0, 0)).toBe(0);
  });
});
