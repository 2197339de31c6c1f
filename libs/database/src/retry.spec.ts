import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#testing';
import { CommitUnknownError } from './database.errors.js';
import { retryDelayMs, retryTransaction, type RetryPolicy } from './retry.js';

const failure = (code: string): Error => Object.assign(new Error(code), { code });
const policy = (given: Partial<RetryPolicy> = {}): RetryPolicy => ({
  maxTries: 5,
  busyTimeoutMs: 1_000,
  transactionTimeoutMs: 1_000,
  clock: new FakeClock(),
  ...given,
});

/** Fails with each error in turn, then succeeds; returns the number of the try. */
function failing(errors: Error[]): () => Promise<number> {
  let tries = 0;
  return async () => {
    const error = errors[tries++];
    if (error) throw error;
    return tries;
  };
}

describe('a transaction', () => {
  it.each(['SQLITE_BUSY', '40001', '40P01', '57P01', 'ECONNRESET', '08006'])(
    'is tried again after %s',
    async (code) => {
      expect(await retryTransaction(failing([failure(code), failure(code)]), policy())).toBe(3);
    },
  );

  it.each(['23505', 'SQLITE_CONSTRAINT', '42601', 'SQLITE_CORRUPT', ''])(
    'is not tried again after "%s"',
    async (code) => {
      const error = failure(code);
      await expect(retryTransaction(failing([error]), policy())).rejects.toBe(error);
    },
  );

  it('is never tried again after an unknown commit, even one caused by a lost connection', async () => {
    const unknown = new CommitUnknownError(failure('ECONNRESET'));
    await expect(retryTransaction(failing([unknown]), policy())).rejects.toBe(unknown);
  });

  it.each([
    ['40001', 'TRANSACTION_CONFLICT'],
    ['ECONNREFUSED', 'DATABASE_UNAVAILABLE'],
  ])('that meets %s on all of its 5 tries fails with %s and the cause', async (code, final) => {
    const error = failure(code);
    const attempt = failing(Array<Error>(9).fill(error));
    await expect(retryTransaction(attempt, policy())).rejects.toMatchObject({ code: final, cause: error });
    await expect(attempt()).rejects.toBe(error);
  });

  it.each(['SQLITE_FULL', '53100'])('that meets %s fails with DISK_FULL at once', async (code) => {
    await expect(retryTransaction(failing([failure(code)]), policy())).rejects.toMatchObject({
      code: 'DISK_FULL',
    });
  });

  it('that finds the lock busy is bounded by time, not by tries', async () => {
    const clock = new FakeClock();
    let tries = 0;
    const attempt = async (): Promise<never> => {
      tries++;
      clock.advance(100);
      throw failure('SQLITE_BUSY');
    };
    await expect(retryTransaction(attempt, policy({ clock }))).rejects.toMatchObject({
      code: 'DATABASE_BUSY',
      waitedMs: 1_000,
    });
    expect(tries).toBe(10);
  });

  it('is not hurried or held up by a jump of the wall clock', async () => {
    const clock = new FakeClock();
    const attempt = failing([failure('SQLITE_BUSY'), failure('SQLITE_BUSY')]);
    const jumping = (): Promise<number> => {
      clock.jump(3_600_000);
      return attempt();
    };
    expect(await retryTransaction(jumping, policy({ clock }))).toBe(3);
  });
});

describe('the wait before the next try', () => {
  it('differs from try to try and stays within its bound', () => {
    const waits = Array.from({ length: 200 }, () => retryDelayMs(failure('40001'), 4, 0, policy()) ?? -1);
    expect(new Set(waits).size).toBeGreaterThan(20);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
  });
});
