import { describe, expect, it } from '@jest/globals';
import { planSweep } from './sweep-plan.js';

const SETTINGS = { recoveryAgeMs: 60_000, maxClaims: 500 };
const CALM = { redisChanged: false, waiting: 10, live: 10, pending: 10 };

describe('planSweep', () => {
  it('looks for nothing when no file waits', () => {
    expect(planSweep({ redisChanged: true, waiting: 0, live: 0, pending: 0 }, SETTINGS)).toBeUndefined();
  });

  it('looks at every waiting file at once when Redis is another one and has fewer jobs than files wait', () => {
    expect(planSweep({ ...CALM, redisChanged: true, live: 9 }, SETTINGS)).toEqual({
      ageMs: 0,
      limit: Infinity,
    });
  });

  it('trusts another Redis that has a job for every waiting file', () => {
    expect(planSweep({ ...CALM, redisChanged: true }, SETTINGS)).toEqual({ ageMs: 60_000, limit: 500 });
  });

  it.each([
    ['no job waits', { waiting: 0 }],
    ['there are fewer jobs than waiting files', { live: 9 }],
  ])('looks at all files but those just enqueued when %s', (_, facts) => {
    expect(planSweep({ ...CALM, ...facts }, SETTINGS)).toEqual({ ageMs: 3_000, limit: Infinity });
  });

  it('looks at a bounded number of old files when nothing seems lost', () => {
    expect(planSweep(CALM, SETTINGS)).toEqual({ ageMs: 60_000, limit: 500 });
  });

  it('never waits longer than it was told to', () => {
    expect(planSweep({ ...CALM, waiting: 0 }, { ...SETTINGS, recoveryAgeMs: 100 })?.ageMs).toBe(100);
  });
});
