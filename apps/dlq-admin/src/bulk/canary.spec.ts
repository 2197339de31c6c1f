import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decide, DEFAULT_CANARY, sizeOf, startCanary, type CanaryState, type StepFacts } from './canary.js';
import { Pace } from './pace.js';
import { confirmToken, readConfirmToken } from './receipt.js';

const facts = (given: Partial<StepFacts>): StepFacts => ({
  position: 0,
  total: 100,
  pending: 0,
  failed: 0,
  now: 0,
  timeoutMs: 1_000,
  ...given,
});

describe('canary', () => {
  const state = startCanary({ steps: [1, 2, 5], maxFailures: 0 });

  it('requeues a step, awaits it, and goes on to the next, larger one', () => {
    expect(decide(state, facts({}))).toEqual({ do: 'requeue', limit: 1 });
    expect(decide(state, facts({ position: 1, pending: 1 }))).toEqual({ do: 'await' });
    expect(decide(state, facts({ position: 1 }))).toMatchObject({ do: 'next', state: { step: 1, until: 3 } });
  });

  it('stops at the first failure too many, whatever else is pending', () => {
    expect(decide(state, facts({ position: 1, failed: 1, pending: 9 }))).toMatchObject({ do: 'stop' });
    expect(decide({ ...state, maxFailures: 1 }, facts({ position: 1, failed: 1, pending: 1 }))).toEqual({
      do: 'await',
    });
  });

  it('stops when a step has no outcome in time', () => {
    expect(
      decide({ ...state, waitingSince: 0 }, facts({ position: 1, pending: 1, now: 1_001 })),
    ).toMatchObject({ do: 'stop' });
  });

  it('says which step it stopped at and why', () => {
    const second = { ...state, step: 1, until: 3, waitingSince: 500 };
    expect(decide(second, facts({ position: 3, failed: 2 }))).toEqual({
      do: 'stop',
      reason: '2 of step 2 failed again',
    });
    expect(decide(second, facts({ position: 3, pending: 2, now: 1_501 }))).toEqual({
      do: 'stop',
      reason: '2 of step 2 had no outcome within 1000 ms',
    });
  });

  it('awaits a step to the end of its time, which begins when all of it was requeued', () => {
    const waiting = { ...state, waitingSince: 500 };
    expect(decide(waiting, facts({ position: 1, pending: 1, now: 1_500 }))).toEqual({ do: 'await' });
    expect(decide(state, facts({ position: 1, pending: 1, now: 9_999 }))).toEqual({ do: 'await' });
    expect(decide(waiting, facts({ position: 1 }))).toEqual({
      do: 'next',
      state: { steps: [1, 2, 5], maxFailures: 0, step: 1, until: 3, waitingSince: null },
    });
  });

  it('awaits the last step, too, before it is complete', () => {
    expect(decide(state, facts({ position: 1, total: 1, pending: 1 }))).toEqual({ do: 'await' });
    expect(decide(state, facts({ position: 1, total: 1 }))).toEqual({ do: 'complete' });
    expect(decide({ ...state, until: 8 }, facts({ position: 3, total: 5 }))).toEqual({
      do: 'requeue',
      limit: 2,
    });
  });

  it('goes in steps of 1, 2, 5, 20, 100 and 500 unless told otherwise, and in ones without steps', () => {
    expect(startCanary(DEFAULT_CANARY)).toEqual({
      steps: [1, 2, 5, 20, 100, 500],
      maxFailures: 0,
      step: 0,
      until: 1,
      waitingSince: null,
    });
    expect([0, 5, 6, 99].map((step) => sizeOf(DEFAULT_CANARY, step))).toEqual([1, 500, 500, 500]);
    expect(sizeOf({ steps: [], maxFailures: 0 }, 0)).toBe(1);
  });

  it('repeats its last step and ends exactly at the total, for any steps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 500 }),
        (steps, total) => {
          let at: CanaryState = startCanary({ steps, maxFailures: 0 });
          let position = 0;
          for (let round = 0; round < 2_000; round++) {
            const decision = decide(at, facts({ position, total }));
            if (decision.do === 'complete') return position === total;
            if (decision.do === 'requeue') position += Math.min(decision.limit, sizeOf(at, at.step));
            if (decision.do === 'next') at = decision.state;
            if (position > total) return false;
          }
          return false;
        },
      ),
    );
  });
});

describe('pace', () => {
  it('grants at most the rate in any second, and begins at once', () => {
    const pace = new Pace(10);
    let granted = pace.take(100, 0);
    expect(granted).toBe(1);
    for (let now = 100; now <= 10_000; now += 100) granted += pace.take(100, now);
    expect(granted).toBeGreaterThanOrEqual(95);
    expect(granted).toBeLessThanOrEqual(101);
    expect(pace.take(100, 60_000)).toBe(10);
  });

  it('without a rate grants everything', () => {
    expect(new Pace(null).take(500, 0)).toBe(500);
  });
});

describe('the receipt of a dry run', () => {
  const filter = { queue: 'q', status: 'open' as const, payload: { a: '1' } };

  it('holds for its own kind and filter only, in whatever order the filter is written', () => {
    const shown = { key: 'k', caller: 'c', kind: 'discard' as const, filter };
    const token = confirmToken(shown, { maxId: 9, count: 3 });
    const again = {
      ...shown,
      filter: { payload: { a: '1' }, status: 'open' as const, queue: 'q', name: undefined },
    };
    expect(readConfirmToken(token, again)).toEqual({ maxId: 9, count: 3 });
    expect(readConfirmToken(token, { ...shown, kind: 'requeue' })).toBeNull();
    expect(readConfirmToken(token, { ...shown, caller: 'another' })).toBeNull();
    expect(readConfirmToken(token, { ...shown, key: 'another' })).toBeNull();
    expect(readConfirmToken(token, { ...shown, filter: { ...filter, queue: 'other' } })).toBeNull();
    expect(readConfirmToken(token.replace('.3.', '.4.'), shown)).toBeNull();
    expect(readConfirmToken('nonsense', shown)).toBeNull();
  });
});
