import { describe, expect, it } from '@jest/globals';
import { restartsAfter } from './child-app.js';

describe('restarts of an app', () => {
  it('end with the fifth in a row', () => {
    let restarts: number | undefined = 0;
    const all: (number | undefined)[] = [];
    while (restarts !== undefined) all.push((restarts = restartsAfter(restarts, 1_000)));
    expect(all).toEqual([1, 2, 3, 4, 5, undefined]);
  });

  it('begin anew after one that ran soundly, however many there were', () => {
    expect(restartsAfter(5, 60_000)).toBe(1);
  });
});
