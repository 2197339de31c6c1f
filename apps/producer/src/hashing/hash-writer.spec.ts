import { describe, expect, it } from '@jest/globals';
import type { HashResult } from './file-hashing.js';
import { HashWriter, ITEMS_A_WRITE } from './hash-writer.js';

const result = (id: number): HashResult => ({
  file: {
    id,
    revision: 1,
    path: `/${id}`,
    pathBytes: null,
    stat: { size: 1, mtimeNs: '0', ctimeNs: '0', inode: '' },
  },
  outcome: { state: 'gone' },
});

/** Transactions that end when the test says so. */
function transactions() {
  const taken: number[][] = [];
  const ends: ((error?: Error) => void)[] = [];
  const write = (results: readonly HashResult[]): Promise<void> => {
    taken.push(results.map(({ file }) => file.id));
    return new Promise((resolve, reject) => {
      ends.push((error) => (error ? reject(error) : resolve()));
    });
  };
  const end = async (error?: Error): Promise<void> => {
    ends.shift()?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { taken, write, end };
}

describe('writing hashes', () => {
  it('takes in one transaction what gathered while another committed', async () => {
    const { taken, write, end } = transactions();
    const writer = new HashWriter(write);
    const all = [1, 2, 3].map((id) => writer.record([result(id)]));
    expect(taken).toEqual([[1]]);
    await end();
    expect(taken).toEqual([[1], [2, 3]]);
    await end();
    await Promise.all(all);
  });

  it('keeps transactions small, however much gathers', async () => {
    const { taken, write, end } = transactions();
    const writer = new HashWriter(write);
    const all = Array.from({ length: ITEMS_A_WRITE + 2 }, (_, id) => writer.record([result(id)]));
    for (let round = 0; round < 3; round++) await end();
    await Promise.all(all);
    expect(taken.map((ids) => ids.length)).toEqual([1, ITEMS_A_WRITE, 1]);
  });

  it('fails those whose transaction failed, and goes on', async () => {
    const { taken, write, end } = transactions();
    const writer = new HashWriter(write);
    const outcomes = Promise.allSettled([1, 2, 3].map((id) => writer.record([result(id)])));
    await end();
    await end(new Error('no'));
    const late = writer.record([result(4)]);
    await end();
    await late;
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(taken.at(-1)).toEqual([4]);
  });
});
