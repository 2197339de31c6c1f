import { describe, expect, it } from '@jest/globals';
import { Coalescer, type CoalescerOptions } from './coalescer.js';

/** Answers each number with its double and remembers the calls; `gate` holds up the first. */
function doubling(over: Partial<CoalescerOptions<number, number>> = {}) {
  const calls: number[][] = [];
  let release!: () => void;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const work = async (items: readonly number[]): Promise<number[]> => {
    calls.push([...items]);
    if (calls.length === 1) await gate;
    if (items.includes(13)) throw new Error('unlucky');
    return items.map((item) => item * 2);
  };
  return { calls, release, coalescer: new Coalescer<number, number>({ work, ...over }) };
}

/** Calls the work with 1 and lets the others arrive while that runs. */
async function during(rig: ReturnType<typeof doubling>, items: readonly number[]) {
  const first = rig.coalescer.add(1);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  const others = items.map((item) => rig.coalescer.add(item));
  rig.release();
  return Promise.allSettled([first, ...others]);
}

describe('Coalescer', () => {
  it('does together what arrives in one turn, and what arrives while it works', async () => {
    const rig = doubling();
    const results = await during(rig, [2, 3, 4]);
    expect(rig.calls).toEqual([[1], [2, 3, 4]]);
    expect(results.map((result) => result.status === 'fulfilled' && result.value)).toEqual([2, 4, 6, 8]);
    expect(await Promise.all([5, 6].map((item) => rig.coalescer.add(item)))).toEqual([10, 12]);
    expect(rig.calls.at(-1)).toEqual([5, 6]);
  });

  it('takes no more than its limit at once, and one that is heavier alone', async () => {
    const rig = doubling({ weigh: (item) => item, limit: 10 });
    await during(rig, [4, 5, 2, 30, 1]);
    expect(rig.calls).toEqual([[1], [4, 5], [2], [30], [1]]);
  });

  it('finds the bad one by halves; the others get their results', async () => {
    const rig = doubling();
    const results = await during(rig, [2, 3, 13, 4]);
    expect(results.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    ]);
    expect(rig.calls).toEqual([[1], [2, 3, 13, 4], [2, 3], [13, 4], [13], [4]]);
  });

  it('asks no more when no item is to blame', async () => {
    const rig = doubling({ blames: () => false });
    const results = await during(rig, [2, 13]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(rig.calls).toEqual([[1], [2, 13]]);
  });

  it('gathers what comes after a call, and does not wait for more when it is drained', async () => {
    const rig = doubling({ gatherMs: 3_600_000, limit: 3 });
    const results = during(rig, [2, 3]);
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([rig.coalescer.drained(), results]);
    expect(rig.calls).toEqual([[1], [2, 3]]);
  });

  it('gives up what waits when it is told to, and ends what runs', async () => {
    const rig = doubling();
    const first = rig.coalescer.add(1);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const second = rig.coalescer.add(2);
    rig.coalescer.abandon(new Error('stopping'));
    await expect(second).rejects.toThrow('stopping');
    rig.release();
    await rig.coalescer.drained();
    expect(await first).toBe(2);
  });
});
