import { describe, expect, it } from '@jest/globals';
import { isTooMany } from './mark-removed.js';

describe('the guard on mass removal', () => {
  it.each([
    [0, 0, 50, false],
    [5, 10, 50, false],
    [6, 10, 50, true],
    [1, 10, 0, true],
    [10, 10, 100, false],
  ])('with %d of %d missing at %d %% says %s', (missing, known, percent, tooMany) => {
    expect(isTooMany(missing, known, percent)).toBe(tooMany);
  });
});
