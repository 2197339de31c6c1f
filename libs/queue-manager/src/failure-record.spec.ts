import { describe, expect, it } from '@jest/globals';
import {
  decodeFailure,
  describeFailure,
  encodeFailure,
  MAX_STACK,
  shorten,
  stackWithCauses,
} from './failure-record.js';

const FACTS = { at: 17, workerId: 'worker-1', reason: 'error' as const };

describe('the record of a failed attempt', () => {
  it('holds the stack of the error and of all its causes', () => {
    const root = new TypeError('root');
    const error = new Error('top', { cause: new RangeError('middle', { cause: root }) });
    const stack = stackWithCauses(error);
    expect(stack).toMatch(
      /^Error: top\n {4}at [^]*\nCaused by: RangeError: middle\n {4}at [^]*\nCaused by: TypeError: root\n/,
    );
  });

  it('ends when causes form a circle', () => {
    const error = new Error('a');
    error.cause = new Error('b', { cause: error });
    expect(stackWithCauses(error).match(/Caused by/g)).toHaveLength(1);
  });

  it('survives the way through a text', () => {
    const record = describeFailure(new TypeError('no\n{"json"}'), FACTS);
    expect(decodeFailure(encodeFailure(record))).toEqual(record);
    expect(record).toMatchObject({ errorName: 'TypeError', message: 'no\n{"json"}', ...FACTS });
  });

  it('makes the best of a plain stack', () => {
    expect(decodeFailure('RangeError: too far\n    at f (x.js:1:1)')).toEqual({
      errorName: 'RangeError',
      message: 'too far',
      reason: 'error',
      stack: 'RangeError: too far\n    at f (x.js:1:1)',
    });
    expect(decodeFailure('#millrace {broken\nrest')).toMatchObject({ reason: 'error' });
    expect(decodeFailure('')).toMatchObject({ errorName: 'Error', message: '' });
  });

  it.each([[undefined], [null], ['text'], [42], [{ a: 1 }], [Symbol('s')], [10n]])(
    'describes a thrown %p',
    (thrown) => {
      const record = describeFailure(thrown, FACTS);
      expect(typeof record.message).toBe('string');
      expect(decodeFailure(encodeFailure(record))).toEqual(record);
    },
  );

  it('is bounded, and says what was cut', () => {
    const error = new Error('x'.repeat(10_000_000));
    const record = describeFailure(error, FACTS);
    expect(encodeFailure(record).length).toBeLessThan(MAX_STACK + 20_000);
    expect(record.message).toMatch(/ … \[\d+ more characters cut\]$/);
    expect(shorten('abc', 3)).toBe('abc');
  });
});
