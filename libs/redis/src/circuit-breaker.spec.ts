import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  afterFailure,
  afterSuccess,
  BREAKER,
  CLOSED,
  holdOffMs,
  retryAfterMs,
  takeProbe,
  type BreakerState,
} from './circuit-breaker.js';

const OPTIONS = { failureThreshold: 3, cooldownMs: 1_000, maxCooldownMs: 8_000 };
const fail = (breaker: BreakerState, now = 0, random = 1): BreakerState =>
  afterFailure(breaker, now, OPTIONS, () => random);

function failures(count: number, start: BreakerState = CLOSED): BreakerState {
  return Array.from({ length: count }).reduce<BreakerState>((breaker) => fail(breaker), start);
}

describe('the circuit breaker', () => {
  it('stays closed below the threshold and opens at it', () => {
    expect(failures(2)).toEqual({ state: 'closed', failures: 2 });
    expect(failures(3)).toEqual({ state: 'open', until: 1_000, trips: 1 });
  });

  it('counts only failures in a row', () => {
    expect(failures(2, afterSuccess(failures(2)))).toEqual({ state: 'closed', failures: 2 });
  });

  it('lets nobody through while it is open and tells how long to wait', () => {
    expect(takeProbe(failures(3), 999)).toBeNull();
    expect(retryAfterMs(failures(3), 400, OPTIONS)).toBe(600);
    expect(retryAfterMs(failures(3), 5_000, OPTIONS)).toBe(1);
    expect(retryAfterMs(CLOSED, 0, OPTIONS)).toBe(0);
  });

  it('lets exactly one probe through after the cooldown', () => {
    const half = takeProbe(failures(3), 1_000);
    expect(half).toEqual({ state: 'half-open', trips: 1 });
    expect(half && takeProbe(half, 1_000)).toBeNull();
    expect(half && retryAfterMs(half, 1_000, OPTIONS)).toBe(1_000);
  });

  it('closes when the probe works', () => {
    expect(afterSuccess({ state: 'half-open', trips: 4 })).toEqual(CLOSED);
  });

  it('is not closed by a call that began before it opened', () => {
    const open = failures(3);
    expect(afterSuccess(open)).toBe(open);
    expect(fail(open)).toBe(open);
  });

  it('doubles the cooldown with every failed probe up to the ceiling', () => {
    const untils = [1, 2, 3, 4, 5].map((trips) => fail({ state: 'half-open', trips }, 0));
    expect(untils.map((breaker) => breaker.state === 'open' && breaker.until)).toEqual([
      2_000, 4_000, 8_000, 8_000, 8_000,
    ]);
  });

  it('draws the cooldown from its upper half, so that a fleet does not probe in step', () => {
    const until = (random: number): number => {
      const breaker = fail({ state: 'half-open', trips: 1 }, 0, random);
      return breaker.state === 'open' ? breaker.until : NaN;
    };
    expect([until(0), until(0.5), until(1)]).toEqual([1_000, 1_500, 2_000]);
  });

  it('is closed by a working probe after any history, and never waits longer than the ceiling', () => {
    const steps = fc.array(fc.constantFrom('fail', 'succeed', 'probe'), { maxLength: 60 });
    fc.assert(
      fc.property(steps, fc.double({ min: 0, max: 1, noNaN: true }), (history, random) => {
        let now = 0;
        let breaker: BreakerState = CLOSED;
        for (const step of history) {
          now += 700;
          if (step === 'fail') breaker = fail(breaker, now, random);
          if (step === 'succeed') breaker = afterSuccess(breaker);
          if (step === 'probe') breaker = takeProbe(breaker, now) ?? breaker;
          expect(retryAfterMs(breaker, now, OPTIONS)).toBeLessThanOrEqual(OPTIONS.maxCooldownMs);
        }
        const half = takeProbe(breaker, now + OPTIONS.maxCooldownMs) ?? breaker;
        expect(afterSuccess(half)).toEqual(CLOSED);
      }),
    );
  });

  it('is not changed by a success while all is well', () => {
    const closed: BreakerState = { state: 'closed', failures: 0 };
    expect(afterSuccess(closed)).toBe(closed);
  });
});

describe('the wait of a connection without a gate', () => {
  const waits = (attempts: number[], random = 1, options = OPTIONS): number[] =>
    attempts.map((attempt) => holdOffMs(attempt, options, () => random));

  it('is none below the threshold, then the cooldown that doubles up to the ceiling', () => {
    expect(waits([1, 2, 3, 4, 5, 6, 7, 2_000])).toEqual([0, 0, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  });

  it('is drawn from the upper half of the cooldown', () => {
    expect([0, 0.5, 1].map((random) => waits([3], random))).toEqual([[500], [750], [1_000]]);
  });

  it('begins at the fifth failure with 1 s and never exceeds 10 s unless something else is configured', () => {
    expect(waits([4, 5, 8, 9], 1, BREAKER)).toEqual([0, 1_000, 8_000, 10_000]);
  });
});
