import { describe, expect, it } from '@jest/globals';
import { fillsGroup, groupLength, readLimitMs } from './read-plan.js';

const files = (count: number, size: number, what = 'count'): { size: number; what: string }[] =>
  Array.from({ length: count }, () => ({ size, what }));

describe('groupLength', () => {
  it('shares few files out among the free threads', () => {
    expect(groupLength(files(4, 10), 4)).toBe(1);
    expect(groupLength(files(9, 10), 4)).toBe(3);
  });

  it('takes at most 128 files', () => {
    expect(groupLength(files(1_000, 10), 1)).toBe(128);
  });

  it('takes no more than 256 KB, but always one file', () => {
    expect(groupLength(files(100, 100_000), 1)).toBe(2);
    expect(groupLength(files(100, 10_000_000), 1)).toBe(1);
  });

  it('does not mix kinds of work', () => {
    expect(groupLength([...files(2, 1), ...files(2, 1, 'hash')], 1)).toBe(2);
  });

  it('takes nothing from nothing', () => {
    expect(groupLength([], 4)).toBe(0);
  });
});

describe('fillsGroup', () => {
  it('is true for 128 files or 256 KB', () => {
    expect(fillsGroup(0, 0)).toBe(false);
    expect(fillsGroup(127, 1_270)).toBe(false);
    expect(fillsGroup(128, 1_280)).toBe(true);
    expect(fillsGroup(1, 300_000)).toBe(true);
  });
});

describe('readLimitMs', () => {
  it('grows with the bytes to be read', () => {
    expect(readLimitMs([{ size: 0 }])).toBe(60_000);
    expect(readLimitMs([{ size: 1_073_741_824 }])).toBeGreaterThan(60 * 60_000);
  });
});
