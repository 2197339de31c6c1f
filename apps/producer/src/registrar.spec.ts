import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { emptyChunk, type FileEntry, type FolderRef } from '#tree';
import { Registrar } from './registrar.js';
import type { QueueableFile, Registration } from './registration/registration.js';
import type { Scan } from './scan.js';

const folder = (id: number): FolderRef => ({
  ...{ id, path: `/r/${id}`, pathBytes: null, depth: 1 },
  ...{ identity: '1:1', listedScanId: 1, digest: 'd' },
});

const unchanged = (id: number): Registration => ({
  ...{ state: 'unchanged', folder: folder(id), identity: '1:1', digest: 'd' },
  counts: emptyChunk().counts,
});

const full = (id: number): Registration => ({
  ...{ state: 'listed', folder: folder(id), identity: '1:1', digest: 'd', ...emptyChunk() },
  files: Array.from({ length: 1_000 }, () => ({}) as FileEntry),
});

describe('the registrar', () => {
  let batches: number[][];
  let failures: unknown[];
  let registrar: Registrar;
  let stop: AbortController;
  /** What is registered while a transaction runs, and what comes in the turn after its commit. */
  let meanwhile: (registrar: Registrar) => void;
  let afterwards: (registrar: Registrar) => void;

  // No wait ever ends by itself.
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    batches = [];
    failures = [];
    stop = new AbortController();
    const scan = {
      signal: stop.signal,
      enqueuer: { add: async () => {} },
      fail: (error: unknown) => {
        failures.push(error);
        stop.abort(error);
      },
    } as unknown as Scan;
    registrar = new Registrar(scan);
    const write = async (batch: readonly Registration[]): Promise<QueueableFile[]> => {
      if (batches.length === 0) meanwhile(registrar);
      batches.push(batch.map(({ folder }) => folder.id));
      if (batches.length === 1) setImmediate(afterwards, registrar);
      return [];
    };
    Object.assign(registrar, { write });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };

  it('writes at once what comes while nothing is written', async () => {
    meanwhile = afterwards = () => {};
    await registrar.add(unchanged(1));
    expect(batches).toEqual([[1]]);
  });

  it('gathers what comes faster than it is committed', async () => {
    meanwhile = (to) => void to.add(unchanged(2));
    afterwards = (to) => void to.add(unchanged(3));
    await registrar.add(unchanged(1));
    await turns();
    expect(batches).toEqual([[1]]);
    jest.runAllTimers();
    await turns();
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('waits no longer once a transaction is full', async () => {
    meanwhile = (to) => void to.add(unchanged(2));
    afterwards = (to) => void to.add(full(3));
    await registrar.add(unchanged(1));
    await turns();
    expect(batches.slice(0, 2)).toEqual([[1], [2]]);
    jest.runAllTimers();
    await turns();
    expect(batches.flat()).toEqual([1, 2, 3]);
  });

  it('tells of the error of a transaction once, and refuses what comes after with it', async () => {
    const lost = new Error('disk full');
    meanwhile = () => {
      throw lost;
    };
    afterwards = () => {};
    const both = await Promise.allSettled([registrar.add(unchanged(1)), registrar.add(unchanged(2))]);
    expect(both).toEqual(Array(2).fill({ status: 'rejected', reason: lost }));
    await expect(registrar.add(unchanged(3))).rejects.toBe(lost);
    expect(failures).toEqual([lost]);
    expect(batches).toEqual([]);
  });

  it('writes nothing after a stop, which is no failure', async () => {
    meanwhile = afterwards = () => {};
    stop.abort(new Error('stopped'));
    await registrar.add(unchanged(1));
    expect({ failures, batches }).toEqual({ failures: [], batches: [] });
  });
});
