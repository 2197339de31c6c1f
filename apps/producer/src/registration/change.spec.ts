import { describe, expect, it } from '@jest/globals';
import type { FileEntry } from '#tree';
import { changeOf, isBehind, type KnownFile } from './change.js';

const SEEN: FileEntry = {
  name: 'a',
  path: '/r/a',
  pathBytes: null,
  size: 10,
  mtimeNs: '1000000001',
  ctimeNs: '1000000002',
  inode: '1:2',
  skip: null,
  error: null,
};

const KNOWN: KnownFile = {
  id: 1,
  folderId: 1,
  name: 'a',
  size: 10,
  mtimeNs: '1000000001',
  ctimeNs: '1000000002',
  inode: '1:2',
  revision: 3,
  status: 'analyzed',
  skipReason: null,
  errorStatus: null,
  removed: false,
};

describe('what a scan does about a file', () => {
  it('registers an unknown one as pending, or as skipped with its reason', () => {
    expect(changeOf(undefined, SEEN)).toEqual({ kind: 'new', status: 'pending' });
    expect(changeOf(undefined, { ...SEEN, skip: 'fifo' })).toEqual({ kind: 'new', status: 'skipped' });
  });

  it('does nothing about one that is what it was', () => {
    expect(changeOf(KNOWN, SEEN)).toEqual({ kind: 'unchanged' });
  });

  it.each([
    ['size', { size: 11 }],
    ['modification time by a nanosecond', { mtimeNs: '1000000002' }],
    ['change time by a nanosecond', { ctimeNs: '1000000003' }],
    ['inode', { inode: '1:3' }],
  ])('begins a revision when the %s differs', (_, difference) => {
    expect(changeOf(KNOWN, { ...SEEN, ...difference })).toEqual({ kind: 'changed', status: 'pending' });
  });

  it('skips the new revision of one that may not be carried', () => {
    expect(changeOf(KNOWN, { ...SEEN, size: 11, skip: 'too-large' })).toEqual({
      kind: 'changed',
      status: 'skipped',
    });
  });

  it('does nothing about one that waits and is what it was', () => {
    expect(changeOf({ ...KNOWN, status: 'pending' }, SEEN)).toEqual({ kind: 'unchanged' });
  });

  it('begins a revision of a failed file that was mended', () => {
    expect(changeOf({ ...KNOWN, status: 'failed' }, { ...SEEN, size: 9 })).toMatchObject({ kind: 'changed' });
  });

  it('brings back a removed file that is here again, without a new revision', () => {
    expect(changeOf({ ...KNOWN, removed: true }, SEEN)).toMatchObject({
      kind: 'corrected',
      status: undefined,
    });
  });

  it('records that a known file could not be looked at, and takes it back when it can', () => {
    const unreadable: FileEntry = { ...SEEN, size: 0, mtimeNs: '0', ctimeNs: '0', inode: '', error: 'EIO' };
    expect(changeOf(KNOWN, unreadable)).toEqual({
      kind: 'corrected',
      status: undefined,
      skip: null,
      error: 'EIO',
    });
    expect(changeOf({ ...KNOWN, errorStatus: 'EIO' }, SEEN)).toMatchObject({
      kind: 'corrected',
      error: null,
    });
  });

  it('leaves the error of a file that failed', () => {
    expect(changeOf({ ...KNOWN, status: 'failed', errorStatus: 'EIO' }, SEEN)).toEqual({ kind: 'unchanged' });
  });

  it('carries what was too large once the limit allows it', () => {
    const known: KnownFile = { ...KNOWN, status: 'skipped', skipReason: 'too-large' };
    expect(changeOf(known, SEEN)).toMatchObject({ kind: 'corrected', status: 'pending', skip: null });
  });

  it('skips what waits once it is too large, but leaves what is done alone', () => {
    const seen: FileEntry = { ...SEEN, skip: 'too-large' };
    expect(changeOf({ ...KNOWN, status: 'pending' }, seen)).toMatchObject({
      kind: 'corrected',
      status: 'skipped',
      skip: 'too-large',
    });
    expect(changeOf(KNOWN, seen)).toEqual({ kind: 'unchanged' });
  });

  it.each(['vanished', 'unreadable', 'not-a-file', 'outside-root', 'changed'])(
    'has a file looked at again that was skipped as %s, although its stat is the same',
    (skipReason) => {
      expect(changeOf({ ...KNOWN, status: 'skipped', skipReason }, SEEN)).toEqual({
        kind: 'changed',
        status: 'pending',
      });
    },
  );

  it('leaves a reason that others gave', () => {
    const known: KnownFile = { ...KNOWN, status: 'skipped', skipReason: 'binary', errorStatus: 'EACCES' };
    expect(changeOf(known, SEEN)).toEqual({ kind: 'unchanged' });
  });

  it.each(['too-large', 'unreadable'] as const)(
    'leaves a file that is skipped as %s and still is',
    (reason) => {
      const known: KnownFile = { ...KNOWN, status: 'skipped', skipReason: reason };
      expect(changeOf(known, { ...SEEN, skip: reason })).toEqual({ kind: 'unchanged' });
    },
  );

  it('replaces the reason of a scan by another that holds now', () => {
    const known: KnownFile = { ...KNOWN, status: 'skipped', skipReason: 'symlink' };
    expect(changeOf(known, { ...SEEN, skip: 'symlink-loop' })).toEqual({
      kind: 'corrected',
      status: 'skipped',
      skip: 'symlink-loop',
      error: null,
    });
  });

  it.each(['too-large', 'vanished'])('heeds the reason %s only of a file that is skipped', (skipReason) => {
    expect(changeOf({ ...KNOWN, skipReason }, SEEN)).toEqual({ kind: 'unchanged' });
  });

  it('skips what waits and is too large, although its row gives that reason already', () => {
    const known: KnownFile = { ...KNOWN, status: 'pending', skipReason: 'too-large' };
    expect(changeOf(known, { ...SEEN, skip: 'too-large' })).toMatchObject({
      kind: 'corrected',
      status: 'skipped',
    });
  });
});

describe('a listing', () => {
  it.each([
    ['is behind a row with a later change time', '1000000001', true],
    ['is not behind a row with the same change time', '1000000002', false],
    ['is not behind a row with an earlier change time', '1000000003', false],
    ['is behind by the number, not by the text', '999999999', true],
  ])('%s', (_, ctimeNs, behind) => {
    expect(isBehind(KNOWN, { ...SEEN, ctimeNs })).toBe(behind);
  });
});
