import { describe, expect, it } from '@jest/globals';
import { planSweep } from './sweep-plan.js';

const SETTINGS = { recoveryAgeMs: 60_000, maxClaims: 500 };
const CALM = {
  ...{ redisChanged: false, scanning: false, live: 10, pending: 10, enqueued: 10 },
  ...{ expired: 0, orphaned: false },
};

describe('planSweep', () => {
  it('looks for nothing when no file waits', () => {
    expect(
      planSweep({ ...CALM, redisChanged: true, live: 0, pending: 0, enqueued: 0 }, SETTINGS),
    ).toBeUndefined();
  });

  it('looks at every waiting file at once when Redis is another one and has fewer jobs than files wait', () => {
    expect(planSweep({ ...CALM, redisChanged: true, live: 9 }, SETTINGS)).toEqual({
      ageMs: 0,
      unsent: true,
      limit: Infinity,
    });
  });

  it('waits for the scan to enqueue what it has just registered, also on another Redis', () => {
    const facts = { ...CALM, redisChanged: true, scanning: true, pending: 500 };
    expect(planSweep(facts, SETTINGS)).toEqual({ ageMs: 60_000, unsent: false, limit: 500 });
  });

  it.each([false, true])(
    'looks at every file whose job another Redis has lost while a scan goes on (files left without one: %s)',
    (orphaned) => {
      const facts = { ...CALM, redisChanged: true, scanning: true, live: 9, orphaned };
      expect(planSweep(facts, SETTINGS)).toEqual({ ageMs: 0, unsent: orphaned, limit: Infinity });
    },
  );

  it('trusts another Redis that has a job for every waiting file', () => {
    expect(planSweep({ ...CALM, redisChanged: true }, SETTINGS)).toEqual({
      ageMs: 60_000,
      unsent: false,
      limit: 500,
    });
  });

  it('looks at all files but those just enqueued when there are fewer jobs than there must be', () => {
    expect(planSweep({ ...CALM, live: 9 }, SETTINGS)).toEqual({
      ageMs: 3_000,
      unsent: false,
      limit: Infinity,
    });
  });

  it('looks at those that were never enqueued, too, when jobs are missing and files were left without one', () => {
    expect(planSweep({ ...CALM, live: 9, orphaned: true }, SETTINGS)).toEqual({
      ageMs: 3_000,
      unsent: true,
      limit: Infinity,
    });
  });

  it('takes files that were just registered or enqueued for no sign: their jobs may be on their way', () => {
    expect(planSweep({ ...CALM, pending: 500 }, SETTINGS)).toEqual({
      ageMs: 60_000,
      unsent: false,
      limit: 500,
    });
  });

  it.each([
    ['files were left without a job', { orphaned: true }, true],
    ['claims have expired', { expired: 1 }, false],
  ])('looks at the first files when %s', (_, facts, unsent) => {
    expect(planSweep({ ...CALM, ...facts }, SETTINGS)).toEqual({ ageMs: 3_000, unsent, limit: 500 });
  });

  it('looks at a bounded number of old files when nothing seems lost', () => {
    expect(planSweep(CALM, SETTINGS)).toEqual({ ageMs: 60_000, unsent: false, limit: 500 });
  });

  it('never waits longer than it was told to', () => {
    expect(planSweep({ ...CALM, live: 9 }, { ...SETTINGS, recoveryAgeMs: 100 })?.ageMs).toBe(100);
  });
});
