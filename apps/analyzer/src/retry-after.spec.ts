import { describe, expect, it } from '@jest/globals';
import { retryAfterMs } from './retry-after.js';

const now = Date.UTC(2026, 0, 1, 12, 0, 0);

describe('retryAfterMs', () => {
  it.each([
    ['120', 120_000],
    [' 120 ', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 12:00:30 GMT', 30_000],
    ['Thu, 01 Jan 2026 11:00:00 GMT', 0],
    ['Thu, 01 Jan 2026 12:00:30 GMT+0000', 30_000],
    ['999999999', 3_600_000],
  ])('reads %p as %p', (header, wait) => {
    expect(retryAfterMs(header, now)).toBe(wait);
  });

  it.each([null, '', ' ', 'soon', '-5', '1e3', '2026-01-01T12:00:30Z'])('has no answer for %p', (header) => {
    expect(retryAfterMs(header, now)).toBeUndefined();
  });
});
