import { describe, expect, it } from '@jest/globals';
import { afterRefusal, confirmWaitMs, idleWaitMs } from './pacing.js';

const policy = { attempts: 3, baseMs: 100, maxMs: 250 };

describe('the wait of an idle publisher', () => {
  it('is short after work and never above the ceiling', () => {
    const waits = Array.from({ length: 40 }, (_, rounds) => idleWaitMs(rounds, 1_000, () => 1));
    expect(waits[0]).toBeLessThanOrEqual(10);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(Math.max(...waits)).toBe(1_000);
  });

  it('is at least half of its length, and differs among publishers', () => {
    expect([idleWaitMs(30, 1_000, () => 0), idleWaitMs(30, 1_000, () => 0.5)]).toEqual([500, 750]);
  });

  it('is at least a millisecond, so that no publisher spins', () => {
    expect(idleWaitMs(0, 1, () => 0)).toBe(1);
  });
});

describe('an event that the queue refused', () => {
  it('is tried again after a growing wait', () => {
    expect(afterRefusal(0, new Error('no'), policy, () => 0.99)).toBe(99);
    expect(afterRefusal(1, new Error('no'), policy, () => 0.99)).toBe(198);
  });

  it('is given up with its last attempt', () => {
    expect(afterRefusal(2, new Error('no'), policy)).toBeNull();
    expect(afterRefusal(7, new Error('no'), policy)).toBeNull();
  });

  it.each(['OUTBOX_UNREADABLE_EVENT', 'INVALID_JOB_ID'])('is given up at once for %s', (code) => {
    expect(afterRefusal(0, Object.assign(new Error('no'), { code }), policy)).toBeNull();
  });
});

describe('the patience with an unconfirmed event', () => {
  it('doubles each time that it was published again in vain, up to a limit', () => {
    expect([0, 1, 2, 8, 50].map((times) => confirmWaitMs(times, 10))).toEqual([10, 20, 40, 2_560, 2_560]);
  });
});
