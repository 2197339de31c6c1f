import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import { guardLeaks } from '#testing';
import { threadFile, ThreadPool } from '#worker-pool';
import { FileReader } from './file-reader.js';
import type { RegisteredFile } from '#database';
import type { ReadOutcome } from './read-outcome.js';

describe('FileReader', () => {
  guardLeaks();
  let pool: ThreadPool;
  let reader: FileReader;
  /** By id of their file. */
  const paths: string[] = [''];
  const rowOf = (id: number): [number, RegisteredFile] => [
    id,
    {
      ...{ id, revision: 1, status: paths[id]?.includes('settled') ? 'batched' : 'pending' },
      ...{ removed: paths[id]?.includes('removed') ?? false, followLinks: false },
      root: { text: '/', bytes: null },
      path: { text: paths[id] ?? '', bytes: null },
    },
  ];
  beforeEach(() => {
    pool = new ThreadPool({
      name: 'readers',
      file: threadFile(import.meta.url, './testing.thread.js'),
      logger: silentLogger,
      threads: 2,
      abortGraceMs: 50,
    });
    paths.length = 1;
    reader = new FileReader(pool, { find: (ids) => Promise.resolve(new Map(ids.map(rowOf))) }, silentLogger);
  });
  afterEach(async () => {
    reader.stop();
    await pool.close();
    expect(pool.alive).toBe(0);
  });

  const read = (path: string, size = 10, revision = 1): Promise<ReadOutcome> =>
    reader.read({ fileId: paths.push(path) - 1, revision, size, what: 'count' });
  const readAll = async (names: readonly string[]): Promise<string[]> => {
    const outcomes = await Promise.allSettled(names.map((path) => read(path)));
    return outcomes.map((outcome) => {
      if (outcome.status === 'fulfilled') return outcome.value.kind;
      return String((outcome.reason as { code?: string }).code ?? (outcome.reason as Error).message);
    });
  };

  it('answers each request with the outcome of its own file', async () => {
    const outcomes = await Promise.all(Array.from({ length: 300 }, (_, n) => read(`/f${n}`)));
    expect(outcomes.map((outcome) => (outcome.kind === 'hashed' ? outcome.hash.split(' ')[0] : ''))).toEqual(
      Array.from({ length: 300 }, (_, n) => `/f${n}`),
    );
  });

  it('opens nothing for a job that its row does not want any more', async () => {
    expect(await readAll(['/settled', '/removed', '/f'])).toEqual(['obsolete', 'obsolete', 'hashed']);
    expect(await read('/f', 10, 2)).toEqual({ kind: 'obsolete' });
  });

  it('has small files read many a task and large ones alone', async () => {
    const inTask = (outcome: ReadOutcome): number =>
      outcome.kind === 'hashed' ? Number(outcome.hash.split(' of ')[1]) : 0;
    const small = await Promise.all(Array.from({ length: 200 }, (_, n) => read(`/f${n}`)));
    expect(Math.max(...small.map(inTask))).toBeGreaterThan(30);
    const large = await Promise.all(Array.from({ length: 20 }, (_, n) => read(`/f${n}`, 1_000_000)));
    expect(Math.max(...large.map(inTask))).toBe(1);
  });

  it('rejects the file that kills its thread as poison, and reads the others of its task', async () => {
    const names = Array.from({ length: 40 }, (_, n) => (n === 17 ? '/poison' : `/f${n}`));
    expect(await readAll(names)).toEqual(
      names.map((path) => (path === '/poison' ? 'POISON_FILE' : 'hashed')),
    );
    expect(await readAll(['/after'])).toEqual(['hashed']);
  }, 60_000);

  it('gives poison up for good', async () => {
    await expect(read('/poison')).rejects.toMatchObject({
      code: 'POISON_FILE',
      reason: 'crash',
      path: '/poison',
    });
  }, 60_000);

  it('rejects the file that throws with its own error, and reads the others of its task', async () => {
    const names = Array.from({ length: 20 }, (_, n) => (n === 3 ? '/throws' : `/f${n}`));
    expect(await readAll(names)).toEqual(
      names.map((path) => (path === '/throws' ? 'thrown for /throws' : 'hashed')),
    );
  });

  it('gives up what it has when it is stopped, so that it can be handed back', async () => {
    const waiting = readAll(['/hangs', '/hangs', '/hangs', '/hangs', '/hangs', '/hangs', '/hangs', '/hangs']);
    await new Promise((resolve) => setImmediate(resolve));
    reader.stop();
    await pool.close();
    expect(new Set(await waiting)).toEqual(new Set(['BATCHER_STOPPED']));
    await expect(read('/f')).rejects.toMatchObject({ code: 'BATCHER_STOPPED' });
  }, 30_000);
});
