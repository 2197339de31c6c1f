import { describe, expect, it } from '@jest/globals';
import { Collector } from './collector.js';

describe('Collector', () => {
  const collect = (
    write: (items: readonly number[]) => Promise<void>,
    isItemsFault = false,
  ): Collector<number> => new Collector({ write, max: 3, lingerMs: 1, isItemsFault: () => isItemsFault });

  it('resolves each item only after the write that holds it, in writes of bounded size', async () => {
    const written: number[][] = [];
    const collector = collect(async (items) => void written.push([...items]));
    await Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => collector.add(item)));
    expect(written.flat().sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(written.every((items) => items.length <= 3)).toBe(true);
  });

  it('rejects every item of a write that failed, and goes on with the next', async () => {
    let fail = true;
    const collector = collect(async () => {
      if (fail) throw new Error('database away');
    });
    await expect(Promise.all([collector.add(1), collector.add(2)])).rejects.toThrow('database away');
    fail = false;
    await collector.add(3);
  });

  it('writes one by one what fails together, so that one bad item fails alone', async () => {
    const good: number[] = [];
    const collector = collect(async (items) => {
      if (items.includes(2)) throw new Error('bad item');
      good.push(...items);
    }, true);
    const results = await Promise.allSettled([1, 2, 3].map((item) => collector.add(item)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(good).toEqual([1, 3]);
  });
});
