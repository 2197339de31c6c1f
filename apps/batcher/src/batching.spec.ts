import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Batching, type WaitingFile } from './batching.js';
import type { BatchesUnit, CountedFile } from './committing/commit-unit.js';
import { BestFitPacker } from './packing/best-fit-packer.js';
import { SequentialPacker } from './packing/sequential-packer.js';

const MAX_TOKENS = 1_000;

function counted(fileId: number, ...costs: number[]): CountedFile {
  const parts = costs.map((cost, index) => ({ start: index, end: index + 1, tokens: cost, cost, hash: 'h' }));
  return {
    fileId,
    revision: 1,
    path: `/f${fileId}`,
    facts: { size: costs.length, mtimeNs: '1', ctimeNs: '1', inode: '1:1', hash: 'h' },
    tokens: 1,
    parts,
  };
}

function createBatching(
  options: { concurrency?: number; packing?: 'sequential'; onTheirWay?: string[] } = {},
): {
  batching: Batching;
  units: BatchesUnit[];
  /** The files of each batch. */
  batches: () => number[][];
  hold: (file: CountedFile) => Promise<void>;
} {
  const units: BatchesUnit[] = [];
  const limits = { maxTokens: MAX_TOKENS, maxItems: 100 };
  const batching = new Batching({
    packer:
      options.packing === 'sequential'
        ? new SequentialPacker<WaitingFile>(limits)
        : new BestFitPacker<WaitingFile>({ ...limits, openBins: 4 }),
    commit: async (unit) => {
      units.push(unit);
      return { onTheirWay: new Set(options.onTheirWay) };
    },
    concurrency: options.concurrency ?? 100,
    batchTokens: 64,
    lingerMs: 5_000,
    quietMs: 250,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
  });
  return {
    batching,
    units,
    batches: () =>
      units.flatMap(({ drafts }) => drafts.map(({ parts }) => parts.map(({ file }) => file.fileId))),
    hold: async (file) => {
      batching.entered(1);
      await added(batching, file);
      batching.left();
    },
  };
}

function added(batching: Batching, file: CountedFile): Promise<void> {
  return new Promise((done, fail) => batching.add(file, { done, fail }));
}

describe('Batching', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('starts with nothing held and commits nothing when there is nothing', async () => {
    const { batching, units } = createBatching();
    expect(batching.held).toBe(0);
    batching.stop();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(units).toEqual([]);
  });

  it('holds a counted file in an open batch until that is committed', async () => {
    const { batching, hold, units } = createBatching();
    let done = false;
    void hold(counted(1, 10)).then(() => (done = true));
    expect(batching.held).toBe(1);
    expect(units).toEqual([]);
    expect(done).toBe(false);
    await jest.advanceTimersByTimeAsync(250);
    expect(done).toBe(true);
    expect(batching.held).toBe(0);
  });

  it('closes the batch with the file that would exceed it, under the rule of the seed', async () => {
    const { hold, batches } = createBatching({ packing: 'sequential' });
    void hold(counted(1, 600));
    void hold(counted(2, 300));
    expect(batches()).toEqual([]);
    void hold(counted(3, 200));
    expect(batches()).toEqual([[1, 2]]);
    await jest.advanceTimersByTimeAsync(250);
    expect(batches()).toEqual([[1, 2], [3]]);
  });

  it('counts what stands around files and batch in the tokens of the batch', async () => {
    const { hold, units } = createBatching();
    void hold(counted(1, 100));
    void hold(counted(2, 200));
    await jest.advanceTimersByTimeAsync(250);
    expect(units[0]?.drafts[0]?.totalTokens).toBe(64 + 300);
  });

  it('commits all parts of a split file in one unit, the last sharing its batch', async () => {
    const { hold, units, batches } = createBatching();
    void hold(counted(1, 990, 980, 100));
    void hold(counted(2, 50));
    await jest.advanceTimersByTimeAsync(250);
    expect(units).toHaveLength(1);
    expect(batches()).toEqual([[1, 2], [1], [1]]);
    expect(units[0]?.drafts.map(({ parts }) => parts[0]?.part)).toEqual([3, 1, 2]);
  });

  it('does not close for quiet while a file is still being read', async () => {
    const { batching, hold, units } = createBatching();
    batching.entered(1);
    void hold(counted(1, 10));
    await jest.advanceTimersByTimeAsync(4_000);
    expect(units).toEqual([]);
    batching.left();
    await jest.advanceTimersByTimeAsync(250);
    expect(units).toHaveLength(1);
  });

  it('closes a batch whose oldest file has lingered, although others keep coming', async () => {
    const { batching, hold, batches } = createBatching();
    void hold(counted(1, 10));
    for (let id = 2; id <= 60; id++) {
      batching.entered(1);
      await jest.advanceTimersByTimeAsync(100);
      void added(batching, counted(id, 1)).then(() => batching.left());
    }
    expect(batches()[0]?.[0]).toBe(1);
  });

  it('closes the fullest batch when most of the jobs it may hold wait', () => {
    const { batching, hold, units } = createBatching({ concurrency: 8 });
    for (let id = 1; id <= 5; id++) void hold(counted(id, 10));
    expect(units).toEqual([]);
    void hold(counted(6, 10));
    expect(units).toHaveLength(1);
    expect(batching.held).toBe(0);
  });

  it('counts files that wait for one in an open batch as settled', async () => {
    const { batching, hold, units } = createBatching();
    void hold(counted(1, 10));
    batching.entered(1);
    batching.parked(1);
    await jest.advanceTimersByTimeAsync(250);
    expect(units).toHaveLength(1);
  });

  it('commits what it holds at once when it stops, and soon what still comes', async () => {
    const { batching, hold, batches } = createBatching();
    void hold(counted(1, 10));
    batching.entered(1);
    batching.entered(1);
    batching.stop();
    expect(batches()).toEqual([[1]]);
    void added(batching, counted(2, 10)).then(() => batching.left());
    await jest.advanceTimersByTimeAsync(100);
    expect(batches()).toEqual([[1], [2]]);
  });

  it('has the files wait whose content is in a batch that is yet to be delivered, and no others', async () => {
    const { batching } = createBatching({ onTheirWay: ['1-1'] });
    batching.entered(2);
    const outcomes = Promise.allSettled([added(batching, counted(1, 1)), added(batching, counted(2, 1))]);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await outcomes).toMatchObject([
      { status: 'rejected', reason: { code: 'CONTENT_ON_ITS_WAY' } },
      { status: 'fulfilled' },
    ]);
  });

  it('rejects the files of a batch that could not be committed', async () => {
    const { batching } = createBatching();
    const failing = new Batching({
      packer: new SequentialPacker<WaitingFile>({ maxTokens: MAX_TOKENS, maxItems: 10 }),
      commit: () => Promise.reject(new Error('refused')),
      concurrency: 10,
      batchTokens: 64,
      lingerMs: 10,
      quietMs: 10,
      clock: { now: () => 0, monotonic: () => performance.now() },
    });
    failing.entered(1);
    const outcome = added(failing, counted(1, 1)).catch((error: Error) => error.message);
    await jest.advanceTimersByTimeAsync(10);
    expect(await outcome).toBe('refused');
    expect(batching.held).toBe(0);
  });
});
