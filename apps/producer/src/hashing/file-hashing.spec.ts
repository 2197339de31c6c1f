import { describe, expect, it } from '@jest/globals';
import type { HashableFile } from '../registration/files.repository.js';
import type { Scan } from '../scan.js';
import { FileHashingWorkItem, type HashResult } from './file-hashing.js';
import type { HashOutcome } from './hash-file.js';

const stat = { size: 1, mtimeNs: '1', ctimeNs: '1', inode: '1:1' };
const file = (id: number): HashableFile => ({
  ...{ id, revision: 1, path: `/r/${id}`, pathBytes: null, ...stat },
});

/** A thread that answers so, a file each, and what became of it. */
function hashing(
  answers: readonly HashOutcome[],
  run = async () => JSON.stringify(answers),
  written = async () => {},
) {
  const done = { asked: 0, recorded: [] as string[], told: [] as string[][] };
  const threads = {
    run: () => {
      done.asked++;
      return run();
    },
  };
  const scan = {
    parts: { threads, config: { HASH_ALGORITHM: 'sha256' }, root: Buffer.from('/r') },
    unreadable: (...told: string[]) => void done.told.push(told),
  } as unknown as Scan;
  const add = async (results: readonly HashResult[]): Promise<void> => {
    await written();
    done.recorded.push(...results.map(({ file, outcome }) => `${file.id} ${outcome.state}`));
  };
  const files = answers.map((_, index) => file(index));
  return { item: new FileHashingWorkItem(files, scan, { add }), done };
}

const hashed = (hash: string): HashOutcome => ({ state: 'hashed', hash, stat });
const going = (): AbortSignal => new AbortController().signal;
const failed = (error: string, message: string): HashOutcome => ({ state: 'failed', error, message });

describe('the hashing of files', () => {
  it('is known by the path of its first file', () => {
    expect(hashing([hashed('abc'), hashed('def')]).item.id).toBe('/r/0');
  });

  it('asks for nothing once it is cancelled', async () => {
    const { item, done } = hashing([hashed('abc')]);
    await item.process(AbortSignal.abort());
    expect(done).toEqual({ asked: 0, recorded: [], told: [] });
  });

  it('records nothing and does not fail when it is cancelled while it reads', async () => {
    const stop = new AbortController();
    const { item, done } = hashing([hashed('abc')], () => {
      stop.abort();
      return Promise.reject(new Error('given up'));
    });
    await item.process(stop.signal);
    expect(done).toEqual({ asked: 1, recorded: [], told: [] });
  });

  it('passes over what it may not read and what is gone: recorded, told, no failure', async () => {
    const { item, done } = hashing([failed('EACCES', 'permission denied'), { state: 'gone' }, hashed('abc')]);
    await item.process(going());
    expect(done.recorded).toEqual(['0 failed', '1 gone', '2 hashed']);
    expect(done.told).toEqual([
      ['/r/0', 'EACCES', 'permission denied'],
      ['/r/1', 'gone', 'the file is gone'],
    ]);
  });

  it('fails by an error of the device, after the results of all its files are recorded', async () => {
    const { item, done } = hashing([hashed('abc'), failed('EIO', 'i/o error'), hashed('def')]);
    await expect(item.process(going())).rejects.toMatchObject({ path: '/r/1', code: 'EIO' });
    expect(done.recorded).toEqual(['0 hashed', '1 failed', '2 hashed']);
    expect(done.told).toEqual([['/r/1', 'EIO', 'i/o error']]);
  });

  it('fails when its results cannot be written', async () => {
    const { item } = hashing([hashed('abc')], undefined, () => Promise.reject(new Error('disk full')));
    await expect(item.process(going())).rejects.toThrow('disk full');
  });
});
