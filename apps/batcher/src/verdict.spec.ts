import { describe, expect, it } from '@jest/globals';
import { DatabaseClosedError } from '#database';
import { PermanentError } from '#queue-manager';
import { BatcherStoppedError, PoisonFileError } from './batcher.errors.js';
import { isFinal, isInterruption, verdictOf } from './verdict.js';

describe('verdictOf', () => {
  it('batches text', () => {
    const text = {
      kind: 'text',
      path: { text: '/f', bytes: null },
      facts: { size: 1, mtimeNs: '', ctimeNs: '', inode: '', hash: '' },
      tokens: 1,
      parts: [],
    } as const;
    expect(verdictOf('/f', { ...text, parts: [] }, false)).toEqual({ kind: 'batch', text });
  });

  it('skips what cannot be batched, with its reason', () => {
    expect(verdictOf('/f', { kind: 'skipped', reason: 'binary' }, false)).toEqual({
      kind: 'skip',
      reason: 'binary',
      error: null,
    });
    expect(verdictOf('/f', { kind: 'skipped', reason: 'unreadable', error: 'EACCES' }, true)).toEqual({
      kind: 'skip',
      reason: 'unreadable',
      error: 'EACCES',
    });
  });

  it('tries a file again that changes while it is read, and gives it up as changed at last', () => {
    expect(verdictOf('/f', { kind: 'changed' }, false)).toMatchObject({
      kind: 'retry',
      error: { code: 'FILE_CHANGING' },
    });
    expect(verdictOf('/f', { kind: 'changed' }, true)).toMatchObject({ kind: 'skip', reason: 'changed' });
  });

  it('waits for a folder that is away, at the last attempt too', () => {
    for (const last of [false, true])
      expect(verdictOf('/f', { kind: 'away', error: 'ENOENT' }, last)).toMatchObject({
        kind: 'wait',
        error: { code: 'FOLDER_AWAY' },
      });
  });

  it('never skips what the system failed to read, not even at last', () => {
    const outcome = { kind: 'failed', code: 'EMFILE', error: 'EMFILE: too many open files' } as const;
    for (const last of [false, true])
      expect(verdictOf('/f', outcome, last)).toMatchObject({
        kind: 'retry',
        error: { code: 'FILE_UNREAD', errno: 'EMFILE' },
      });
  });
});

describe('isInterruption', () => {
  it('tells a stop or an absent database from a fault of the file', () => {
    expect(isInterruption(new BatcherStoppedError())).toBe(true);
    expect(isInterruption(new DatabaseClosedError())).toBe(true);
    expect(isInterruption(new Error('x'))).toBe(false);
  });
});

describe('isFinal', () => {
  it('gives poison up at once and other errors not', () => {
    expect(isFinal(new PoisonFileError('/f', undefined))).toBe(true);
    expect(isFinal(new PermanentError('x'))).toBe(true);
    expect(isFinal(new Error('x'))).toBe(false);
  });
});
