import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeClock } from '#testing';
import { noCounts, type FileEntry, type FolderRef } from '#tree';
import { Registrar, type RegistrarOptions } from './registrar.js';
import type { Registration } from './registration/registration.js';
import { noScanCounters } from './registration/scan-counters.js';

const folder = (id: number): FolderRef => ({
  ...{ id, path: `/r/${id}`, pathBytes: null, depth: 1 },
  ...{ identity: '1:1', listedScanId: 1, digest: 'd' },
});

const unchanged = (id: number): Registration => ({
  ...{ kind: 'unchanged', folder: folder(id), identity: '1:1', digest: 'd', counts: noCounts() },
});

const full = (id: number): Registration => ({
  ...{ kind: 'listed', folder: folder(id), identity: '1:1', digest: 'd', counts: noCounts() },
  files: Array.from({ length: 999 }, () => ({}) as FileEntry),
  subfolders: [],
});

describe('the registrar', () => {
  let batches: number[][];
  let failures: unknown[];
  let registrar: Registrar;
  /** What is registered while a transaction runs, and what comes in the turn after its commit. */
  let meanwhile: (registrar: Registrar) => void;
  let afterwards: (registrar: Registrar) => void;

  // No wait ever ends by itself.
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    batches = [];
    failures = [];
    const counters = noScanCounters();
    registrar = new Registrar({
      scan: { id: 1, rootId: 1, resumed: false, startedAt: 0, counters },
      rules: '{}',
      mode: 'all',
      tables: {} as RegistrarOptions['tables'],
      scans: {} as RegistrarOptions['scans'],
      write: <T>() => {
        if (batches.length === 0) meanwhile(registrar);
        return Promise.resolve({ queueable: [], counters } as T);
      },
      clock: new FakeClock(),
      committed: (ids) => {
        batches.push([...ids]);
        if (batches.length === 1) setImmediate(afterwards, registrar);
        return Promise.resolve();
      },
      failed: (error) => void failures.push(error),
      signal: new AbortController().signal,
    });
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
    await registrar.drained();
    expect(batches).toEqual([[1]]);
  });

  it('gathers what comes faster than it is committed', async () => {
    meanwhile = (to) => void to.add(unchanged(2));
    afterwards = (to) => void to.add(unchanged(3));
    await registrar.add(unchanged(1));
    await turns();
    expect(batches).toEqual([[1]]);
    jest.runAllTimers();
    await registrar.drained();
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('waits no longer once a transaction is full', async () => {
    meanwhile = (to) => void to.add(unchanged(2));
    afterwards = (to) => void to.add(full(3));
    await registrar.add(unchanged(1));
    await turns();
    expect(batches.slice(0, 2)).toEqual([[1], [2]]);
    jest.runAllTimers();
    await registrar.drained();
    expect(batches.flat()).toEqual([1, 2, 3]);
  });

  it('tells of the error of a transaction once, and refuses what comes after with it', async () => {
    const lost = new Error('disk full');
    meanwhile = () => {
      throw lost;
    };
    afterwards = () => {};
    await registrar.add(unchanged(1));
    await expect(registrar.drained()).rejects.toBe(lost);
    await expect(registrar.add(unchanged(2))).rejects.toBe(lost);
    expect(failures).toEqual([lost]);
    expect(registrar.lost).toBe(1);
    expect(batches).toEqual([]);
  });
});
