import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  deadlineOf,
  driftMs,
  nextRenewal,
  reactionMs,
  renewalIntervalMs,
  retryRenewal,
} from './lease-time.js';

const lease = fc.integer({ min: 50, max: 86_400_000 });
const time = fc.double({ min: 0, max: 1e12, noNaN: true });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('lease time', () => {
  it('allows a drift of 1 % and 2 ms', () => {
    expect([driftMs(30_000), driftMs(400), driftMs(50)]).toEqual([302, 6, 3]);
  });

  it('keeps 5 % to react', () => {
    expect([reactionMs(30_000), reactionMs(50)]).toEqual([1_500, 3]);
  });

  it('sets the deadline of a lease of 30 s at 28.198 s', () => {
    expect(deadlineOf(1_000, 30_000)).toBe(1_000 + 30_000 - 302 - 1_500);
  });

  it('ends before a server whose clock runs 1 % fast can expire the key', () => {
    fc.assert(
      fc.property(time, lease, (sentAt, leaseMs) => {
        const earliestExpiry = sentAt + leaseMs / 1.01;
        expect(deadlineOf(sentAt, leaseMs) + reactionMs(leaseMs)).toBeLessThan(earliestExpiry);
      }),
    );
  });

  it('renews as configured, and a short lease three times in its life', () => {
    expect(renewalIntervalMs(10_000, 30_000)).toBe(10_000);
    expect(renewalIntervalMs(10_000, 900)).toBe(300);
  });

  it('leaves time for a second try when one renewal gets no answer', () => {
    fc.assert(
      fc.property(lease, chance, (leaseMs, random) => {
        const interval = renewalIntervalMs(leaseMs / 2, leaseMs);
        const first = nextRenewal(0, interval, () => random);
        expect(first).toBeGreaterThan(0);
        expect(first).toBeLessThan(deadlineOf(0, leaseMs) / 2 + leaseMs / 20);
      }),
    );
  });

  it('draws renewals apart, so that a fleet does not beat in step', () => {
    expect(nextRenewal(0, 10_000, () => 0)).toBe(10_000);
    expect(nextRenewal(0, 10_000, () => 0.999)).toBeLessThan(9_010);
    expect(nextRenewal(1_000, 10_000, () => 0.5)).toBe(10_500);
  });

  it('tries again before the deadline while more than 10 ms are left', () => {
    fc.assert(
      fc.property(fc.integer({ min: 11, max: 1e7 }), lease, chance, (left, interval, random) => {
        const at = retryRenewal(0, left, interval, () => random);
        expect(at).toBeGreaterThan(0);
        expect(at).toBeLessThan(left);
      }),
    );
  });

  it.each([
    ['a fifth of what is left', 6_000, 10_000, 0, 2_000],
    ['less of it by chance', 6_000, 10_000, 0.5, 1_750],
    ['not more than the interval', 6_000, 400, 0, 1_400],
    ['not less than 10 ms', 1_020, 400, 0, 1_010],
  ])('waits %s before the next try', (_, deadline, interval, random, at) => {
    expect(retryRenewal(1_000, deadline, interval, () => random)).toBe(at);
  });
});
