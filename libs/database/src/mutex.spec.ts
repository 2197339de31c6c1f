import { describe, expect, it } from '@jest/globals';
import { deferred } from './deferred.fixture.js';
import { Mutex } from './mutex.js';

describe('a mutex', () => {
  it('lets one through at a time, in order', async () => {
    const mutex = new Mutex();
    const events: string[] = [];
    const gates = [deferred(), deferred()];
    const passing = gates.map((gate, n) =>
      mutex.runExclusive(async () => {
        events.push(`in ${n}`);
        await gate.promise;
        events.push(`out ${n}`);
        return n;
      }),
    );
    gates[1]?.resolve();
    gates[0]?.resolve();
    expect(await Promise.all(passing)).toEqual([0, 1]);
    expect(events).toEqual(['in 0', 'out 0', 'in 1', 'out 1']);
  });

  it('is not held up by one who fails', async () => {
    const mutex = new Mutex();
    const failed = mutex.runExclusive(async () => {
      throw new Error('no');
    });
    const next = mutex.runExclusive(async () => 'next');
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('next');
  });
});
