import { describe, expect, it } from '@jest/globals';
import type { FilePlace } from '#files';
import type { ReadOutcome } from './read-outcome.js';
import { outcomesFromWire, outcomesToWire, taskFromWire, taskToWire } from './read-wire.js';

const HASH = 'ab'.repeat(32);
const facts = {
  size: 10,
  mtimeNs: '1700000000123456789',
  ctimeNs: '2',
  inode: '18446744073709551615',
  hash: HASH,
};

describe('what goes to a reading thread and comes back', () => {
  it('names each file in its own tree', () => {
    const one = { root: { text: '/one', bytes: null }, followLinks: false };
    const two = { root: { text: '/tw\\xff', bytes: '/3R3/w==' }, followLinks: true };
    const places: FilePlace[] = [
      { ...one, path: { text: '/one/a "b"\n', bytes: null }, folderIdentity: '1:2' },
      { ...one, path: { text: '/one/c', bytes: null }, folderIdentity: null },
      { ...two, path: { text: '/tw\\xff/d', bytes: '/3R3/2Q=' }, folderIdentity: '1:3' },
      { ...one, followLinks: true, path: { text: '/one/e', bytes: null }, folderIdentity: null },
    ];
    expect(taskFromWire(taskToWire(places))).toEqual(places);
  });

  it('tells every outcome as it was, in its place', () => {
    const whole = { start: 0, end: 10, tokens: 3, cost: 9, hash: HASH };
    const outcomes: ReadOutcome[] = [
      { kind: 'text', facts, tokens: 3, parts: [whole] },
      {
        ...{ kind: 'text', facts, tokens: 7 },
        parts: [
          { start: 0, end: 4, tokens: 3, cost: 5, hash: HASH },
          { start: 4, end: 10, tokens: 4, cost: 6, hash: HASH },
        ],
      },
      { kind: 'skipped', reason: 'binary' },
      { kind: 'away', error: 'ENOENT' },
      { kind: 'changed' },
      { kind: 'failed', code: 'EIO', error: 'the disk' },
    ];
    expect(outcomesFromWire(outcomesToWire(outcomes))).toEqual(outcomes);
  });
});
