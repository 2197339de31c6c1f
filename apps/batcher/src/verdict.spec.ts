import { describe, expect, it } from '@jest/globals';
import { DatabaseClosedError } from '#database';
import { BatcherStoppedError, FolderAwayError } from './batcher.errors.js';
import { retryMs, verdictOf } from './verdict.js';

describe('verdictOf', () => {
  it('batches text', () => {
    const text = {
      kind: 'text',
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

describe('retryMs', () => {
  it('tells what nobody is at fault for from a failed attempt', () => {
    expect(retryMs(new BatcherStoppedError())).toBe(1_000);
    expect(retryMs(new DatabaseClosedError())).toBe(1_000);
    expect(retryMs(new FolderAwayError('/f', 'ENOENT'))).toBe(10_000);
    expect(retryMs(new Error('x'))).toBeUndefined();
  });
});
