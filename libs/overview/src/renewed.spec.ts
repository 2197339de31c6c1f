import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#testing';
import { Renewed } from './renewed.js';

describe('a renewed value', () => {
  const clock = new FakeClock();
  const rig = (costMs: number): { value: Renewed<number>; reads: () => number; fail: () => void } => {
    let reads = 0;
    let broken = false;
    const read = async (): Promise<number> => {
      clock.advance(costMs);
      if (broken) throw new Error('away');
      return ++reads;
    };
    const value = new Renewed(clock, read);
    return { value, reads: () => reads, fail: () => (broken = true) };
  };

  it('is read once for all who ask at a time, and again when it is no longer fresh', async () => {
    const { value } = rig(1);
    expect(await Promise.all([value.get(), value.get()])).toEqual([1, 1]);
    expect(await value.get()).toBe(1);
    clock.advance(1_000);
    expect(await value.get()).toBe(2);
  });

  it('that is dear to read is given at once as it was, and read a twentieth of the time', async () => {
    const { value, reads } = rig(1_000);
    expect(await value.get()).toBe(1);
    clock.advance(19_000);
    expect([await value.get(), reads()]).toEqual([1, 1]);
    clock.advance(1_000);
    expect(await value.get()).toBe(1);
    expect(await value.get()).toBe(2);
  });

  it('that cannot be read any more is not told for ever', async () => {
    const { value, fail } = rig(1_000);
    expect(await value.get()).toBe(1);
    fail();
    clock.advance(20_000);
    expect(await value.get()).toBe(1);
    clock.advance(80_000);
    await expect(value.get()).rejects.toThrow('away');
  });
});
