import { describe, expect, it } from '@jest/globals';
import { FILE_JOB, filesOf, BATCH_EVENT, InvalidPayloadError } from './index.js';

const file = { filePath: '/a', fileSize: 1, fileId: 1, revision: 1 };

describe('contracts', () => {
  it('accepts a payload that keeps its contract and returns it unchanged', () => {
    expect(FILE_JOB.parse(file)).toBe(file);
  });

  it('lists every fault with where, what was found and what is allowed', () => {
    expect(FILE_JOB.faultsOf({ filePath: '', fileSize: -1, fileId: '7' })).toEqual([
      { path: 'filePath', found: '""', rule: 'a string of 1 to 32768 characters' },
      { path: 'fileSize', found: '-1', rule: expect.stringContaining('from 0') },
      { path: 'fileId', found: '"7"', rule: expect.stringContaining('from 1') },
      { path: 'revision', found: 'nothing', rule: expect.stringContaining('from 1') },
    ]);
  });

  it.each([null, undefined, 7, 'x', [], () => 1])('refuses %p, which is not an object', (value) => {
    expect(() => FILE_JOB.parse(value)).toThrow(InvalidPayloadError);
  });

  it('accepts a list of files, and lists the one file of the form of the seed', () => {
    const list = { files: [file, { ...file, fileId: 2 }] };
    expect(FILE_JOB.parse(list)).toBe(list);
    expect(filesOf(FILE_JOB.parse(list)).map(({ fileId }) => fileId)).toEqual([1, 2]);
    expect(filesOf(FILE_JOB.parse(file))).toEqual([file]);
  });

  it.each([
    ['no files', { files: [] }, 'files'],
    ['no list', { files: { length: 1 } }, 'files'],
    [
      'too many files',
      { files: Array.from({ length: 1_001 }, (_, n) => ({ ...file, fileId: n + 1 })) },
      'files',
    ],
    ['a file that is none', { files: [file, null] }, 'files[1]'],
    [
      'a field that is wrong',
      {
        files: [
          { ...file, fileId: 3 },
          { ...file, revision: 0 },
        ],
      },
      'files[1].revision',
    ],
    [
      'the same file twice',
      { files: [file, { ...file, fileId: 2 }, { ...file, revision: 2 }] },
      'files[2].fileId',
    ],
    ['a list beside the form of the seed', { ...file, files: [7] }, 'files[0]'],
  ])('says where a list has %s', (_, payload, path) => {
    expect(FILE_JOB.faultsOf(payload).map((fault) => fault.path)).toEqual([path]);
  });

  it('names the item inside an array', () => {
    const faults = BATCH_EVENT.faultsOf({ id: 'b', totalTokens: 1, files: [{ ...file, path: 7 }] });
    expect(faults[0]).toEqual({
      path: 'files[0].path',
      found: '7',
      rule: 'a string of 1 to 32768 characters',
    });
  });

  it('does not read fields from a polluted prototype', () => {
    const inherited = Object.create(file) as unknown;
    expect(FILE_JOB.faultsOf(inherited)).toHaveLength(4);
  });

  it('tolerates unknown fields of a newer sender', () => {
    expect(FILE_JOB.faultsOf({ ...file, addedLater: true })).toEqual([]);
  });

  it('shortens what was found, so that a hostile payload cannot flood a log', () => {
    const [fault] = FILE_JOB.faultsOf({ ...file, filePath: 'x'.repeat(1_000_000) });
    expect(fault?.found.length).toBeLessThan(100);
  });
});
