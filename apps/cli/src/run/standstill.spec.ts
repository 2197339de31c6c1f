import { describe, expect, it } from '@jest/globals';
import { Standstill } from './progress-view.js';

describe('a standstill', () => {
  it('lasts from the first of equal counts, and ends with a change', () => {
    const standstill = new Standstill();
    expect(standstill.observe({ files: { pending: 3 } }, 100)).toBe(0);
    expect(standstill.observe({ files: { pending: 3 } }, 400)).toBe(300);
    expect(standstill.observe({ files: { pending: 2, batched: 1 } }, 500)).toBe(0);
    expect(standstill.observe({ files: { pending: 2, batched: 1 } }, 510)).toBe(10);
  });

  it('lasts from when it was told to begin anew', () => {
    const standstill = new Standstill();
    standstill.observe({ delivered: 1 }, 100);
    standstill.restart(700);
    expect(standstill.observe({ delivered: 1 }, 900)).toBe(200);
  });
});
