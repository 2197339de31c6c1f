import { describe, expect, it } from '@jest/globals';
import { outcomeOfFault } from './fs-faults.js';

const fault = (code: string): Error => Object.assign(new Error(`${code}: it failed, open '/f'`), { code });

describe('outcomeOfFault', () => {
  it.each([
    ['ENOENT', 'vanished'],
    ['ENOTDIR', 'vanished'],
    ['EACCES', 'unreadable'],
    ['EPERM', 'unreadable'],
    ['ELOOP', 'not-a-file'],
    ['EISDIR', 'not-a-file'],
    ['ENXIO', 'not-a-file'],
  ])('skips a file for %s as %s', (code, reason) => {
    expect(outcomeOfFault(fault(code))).toEqual({ kind: 'skipped', reason, error: code });
  });

  it.each(['EMFILE', 'ENFILE', 'EIO', 'EAGAIN', 'ESTALE', 'ENOMEM', 'ETIMEDOUT', 'EBUSY', 'EANYTHING'])(
    'never skips a file for %s: it may pass',
    (code) => {
      expect(outcomeOfFault(fault(code))).toEqual({ kind: 'failed', code, error: fault(code).message });
    },
  );

  it('reports what is no system error by its name', () => {
    expect(outcomeOfFault(new RangeError('too far'))).toEqual({
      kind: 'failed',
      code: 'RangeError',
      error: 'too far',
    });
    expect(outcomeOfFault('text')).toEqual({ kind: 'failed', code: 'UNKNOWN', error: 'text' });
  });
});
