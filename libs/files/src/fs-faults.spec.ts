import { describe, expect, it } from '@jest/globals';
import { fault, faultCode, isRecordable, meaningOf, patiently, skipReasonOfFault } from './fs-faults.js';

describe('file system faults', () => {
  it('waits and tries again while descriptors are out, and never gives the file up for it', () => {
    const waits: number[] = [];
    let calls = 0;
    const value = patiently(
      () => {
        if (++calls < 4) throw fault('EMFILE', 'too many open files');
        return 'read';
      },
      (ms) => waits.push(ms),
    );
    expect(value).toBe('read');
    expect(waits).toHaveLength(3);
    expect([...waits].sort((a, b) => a - b)).toEqual(waits);
  });

  it('throws what waiting did not cure, as a fault of the machine and not of the file', () => {
    const run = (): never =>
      patiently(
        () => {
          throw fault('ENFILE', 'file table overflow');
        },
        () => {},
      );
    expect(run).toThrow('file table overflow');
    expect(isRecordable(fault('EMFILE', ''))).toBe(false);
  });

  it('does not wait for a refusal', () => {
    const waits: number[] = [];
    const run = (): never =>
      patiently(
        () => {
          throw fault('EACCES', 'permission denied');
        },
        (ms) => waits.push(ms),
      );
    expect(run).toThrow('permission denied');
    expect(waits).toEqual([]);
    expect(isRecordable(fault('EACCES', ''))).toBe(true);
  });

  it('names an error without a number', () => {
    expect(faultCode(new Error('odd'))).toBe('EUNKNOWN');
    expect(isRecordable(new Error('odd'))).toBe(false);
  });
});

describe('what an error says of a file', () => {
  it.each([
    ['ENOENT', 'vanished'],
    ['ENOTDIR', 'vanished'],
    ['EACCES', 'unreadable'],
    ['EPERM', 'unreadable'],
    ['ELOOP', 'not-a-file'],
    ['EISDIR', 'not-a-file'],
    ['ENOTREG', 'not-a-file'],
    ['EOUTSIDE', 'outside-root'],
  ])('%s skips it as %s', (code, reason) => {
    expect(skipReasonOfFault(fault(code, ''))).toBe(reason);
  });

  it.each([
    'EMFILE',
    'ENFILE',
    'EIO',
    'ENXIO',
    'EAGAIN',
    'ESTALE',
    'ENOMEM',
    'ETIMEDOUT',
    'EBUSY',
    'EANYTHING',
  ])('%s never skips it: it may pass', (code) => {
    expect(skipReasonOfFault(fault(code, ''))).toBeUndefined();
  });

  it('tells a failing device from one entry at fault', () => {
    expect(['EIO', 'ENXIO', 'ESTALE'].map((code) => meaningOf(fault(code, '')))).toEqual(
      Array(3).fill('device'),
    );
    expect(meaningOf(new RangeError('too far'))).toBe('unknown');
  });
});
