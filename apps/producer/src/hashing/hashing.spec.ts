import { describe, expect, it } from '@jest/globals';
import { groups } from './hashing.js';
import type { HashableFile } from '../registration/files.repository.js';

const file = (id: number, size: number): HashableFile => ({
  id,
  revision: 1,
  path: `/${id}`,
  pathBytes: null,
  ...{ size, mtimeNs: '0', ctimeNs: '0', inode: '' },
});

const sizes = (...list: number[]): number[][] =>
  groups(list.map((size, id) => file(id, size))).map((group) => group.map(({ size }) => size));

describe('grouping files for hashing', () => {
  it('puts many small files on one trip', () => {
    expect(sizes(...Array<number>(2_200).fill(10)).map((group) => group.length)).toEqual([1_000, 1_000, 200]);
  });

  it('sends a large file alone', () => {
    expect(sizes(10, 50_000_000, 20)).toEqual([[10], [50_000_000], [20]]);
  });

  it('loses none and makes no empty group', () => {
    expect(groups([])).toEqual([]);
    expect(sizes(5_000_000, 5_000_000).flat()).toEqual([5_000_000, 5_000_000]);
  });
});
