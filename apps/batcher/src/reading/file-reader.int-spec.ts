import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import { guardLeaks } from '#testing';
import { threadFile, ThreadPool } from '#worker-pool';
import { FileReader, limitMs, type FileToRead } from './file-reader.js';

const fileAt = (path: string): FileToRead => ({
  root: { text: '/', bytes: null },
  path: { text: path, bytes: null },
  followLinks: false,
  size: 10,
});

describe('FileReader', () => {
  guardLeaks();
  let pool: ThreadPool;
  let reader: FileReader;
  beforeEach(() => {
    pool = new ThreadPool({
      name: 'readers',
      file: threadFile(import.meta.url, './testing/named.thread.js'),
      logger: silentLogger,
      threads: 2,
      abortGraceMs: 50,
    });
    reader = new FileReader(pool, silentLogger);
  });
  afterEach(async () => {
    reader.stop();
    await pool.stop();
    expect(pool.alive).toBe(0);
  });

  /** Outcomes: what the thread said, or the error of what it did not come to. */
  const read = async (names: readonly string[]): Promise<string[]> => {
    const outcomes = await reader.read(names.map(fileAt));
    return outcomes.map((outcome) => {
      if (outcome.kind === 'away') return outcome.error;
      const { error } = outcome as { error: { code?: string; message: string } };
      return error.code ?? error.message;
    });
  };

  it('reads the files of a call as one task, and tells of each in its place', async () => {
    expect(await read(['/a', '/b', '/c'])).toEqual(['/a of 3', '/b of 3', '/c of 3']);
    expect(await read([])).toEqual([]);
  });

  it('has as many calls read as it is asked for, a few at a time', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `/f${n}`);
    const read1 = await Promise.all(names.map((name) => read([name])));
    expect(read1.flat()).toEqual(names.map((name) => `${name} of 1`));
  });

  it('calls the file that kills its thread poison, and reads the others of its task', async () => {
    const names = Array.from({ length: 40 }, (_, n) => (n === 17 ? '/poison' : `/f${n}`));
    expect(await read(names)).toEqual(
      names.map((path) => (path === '/poison' ? 'POISON_FILE' : `${path} of 1`)),
    );
    expect(await read(['/after'])).toEqual(['/after of 1']);
  }, 60_000);

  it('gives poison up for good, after it killed two threads', async () => {
    const [outcome] = await reader.read([fileAt('/poison')]);
    expect(outcome).toMatchObject({
      kind: 'error',
      error: { code: 'POISON_FILE', path: '/poison' },
    });
  }, 60_000);

  it('tells the error of the file that throws, and reads the others of its task', async () => {
    const names = Array.from({ length: 20 }, (_, n) => (n === 3 ? '/throws' : `/f${n}`));
    expect(await read(names)).toEqual(
      names.map((path) => (path === '/throws' ? 'thrown for /throws' : `${path} of 1`)),
    );
  });

  it('gives up what it has when it is stopped, so that it can be handed back', async () => {
    const waiting = Array.from({ length: 8 }, () => read(['/hangs']));
    await new Promise((resolve) => setImmediate(resolve));
    reader.stop();
    await pool.stop();
    expect(new Set((await Promise.all(waiting)).flat())).toEqual(new Set(['BATCHER_STOPPED']));
    expect(await read(['/f'])).toEqual(['BATCHER_STOPPED']);
  }, 30_000);

  it('gives a task time by the bytes it has to read', () => {
    expect(limitMs([{ size: 0 }])).toBe(60_000);
    expect(limitMs([{ size: 320_000 }, { size: 320_000 }])).toBe(80_000);
  });
});
