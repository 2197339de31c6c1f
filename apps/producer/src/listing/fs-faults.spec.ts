import { describe, expect, it } from '@jest/globals';
import { fault, faultCode, isRecordable, patiently } from './fs-faults.js';

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
