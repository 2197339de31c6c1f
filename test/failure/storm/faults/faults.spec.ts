import { describe, expect, it } from '@jest/globals';
import { EVERYWHERE, neverStruck } from './faults.js';

const MEANT = [
  'clock-back',
  'destination-away',
  'kill-producer',
  'neighbour',
  'permissions-taken',
  'same-content',
  'subtree-away',
];

describe('the faults of a storm', () => {
  it('hold those that it is meant to try', () => {
    const meant = EVERYWHERE.filter((fault) => fault.meant).map(({ name }) => name);
    expect(meant.sort()).toEqual(MEANT);
  });

  it('break it when one that is meant never struck with effect, and only then', () => {
    const struck = Object.fromEntries(MEANT.map((name) => [name, 1]));
    expect(neverStruck(EVERYWHERE, struck)).toEqual([]);
    for (const name of MEANT)
      expect(neverStruck(EVERYWHERE, { ...struck, [name]: 0 })).toEqual([
        expect.stringContaining(`${name} never struck`),
      ]);
  });
});
