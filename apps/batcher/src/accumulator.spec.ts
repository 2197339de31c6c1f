import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseClosedError } from '#database';
import { createLogger, silentLogger, type Logger } from '#service';
import { Accumulator } from './accumulator.js';
import type { BatcherConfig } from './batcher.config.js';
import type { BatcherMetrics } from './batcher.metrics.js';
import type { BatchesUnit, Committed, CommitUnit, CountedFile } from './committing/commit-unit.js';
import type { CommitRepository } from './committing/commit.repository.js';

const NOTHING: Committed = { batches: [], refused: 0, touched: 0, onTheirWay: new Set() };
// The envelope of a request takes 64 tokens.
const CONFIG = {
  ...{ SINK: 'http', PACKING: 'best-fit', MAX_BATCH_TOKENS: 1_064, MAX_BATCH_FILES: 100, OPEN_BINS: 4 },
  ...{ BATCHER_CONCURRENCY: 100, BATCH_LINGER_MS: 5_000, BATCH_QUIET_MS: 250 },
};

type Commit = (units: readonly CommitUnit[]) => Promise<Committed>;

function createAccumulator(
  commit: Commit,
  config: Partial<typeof CONFIG> = {},
  logger: Logger = silentLogger,
): Accumulator {
  return new Accumulator(
    { ...CONFIG, ...config } as BatcherConfig,
    { commit } as CommitRepository,
    { committed: () => {} } as unknown as BatcherMetrics,
    logger,
  );
}

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
  config: Partial<typeof CONFIG> = {},
  onTheirWay: string[] = [],
): {
  batching: Accumulator;
  units: BatchesUnit[];
  /** The files of each batch. */
  batches: () => number[][];
  hold: (file: CountedFile) => Promise<void>;
} {
  const units: BatchesUnit[] = [];
  const batching = createAccumulator(async (group) => {
    units.push(...(group as BatchesUnit[]));
    return { ...NOTHING, onTheirWay: new Set(onTheirWay) };
  }, config);
  return {
    batching,
    units,
    batches: () =>
      units.flatMap(({ drafts }) => drafts.map(({ parts }) => parts.map(({ file }) => file.fileId))),
    hold: async (file) => {
      batching.entered(1);
      await added(batching, file);
    },
  };
}

function added(batching: Accumulator, file: CountedFile): Promise<void> {
  const settled = new Promise<void>((done, fail) => batching.add(file, { done, fail }));
  batching.decided(1);
  return settled;
}

describe('open batches', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('starts with nothing held and commits nothing when there is nothing', async () => {
    const { batching, units } = createBatching();
    expect(batching.held).toBe(0);
    batching.drain();
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
    await jest.advanceTimersByTimeAsync(251);
    expect(done).toBe(true);
    expect(batching.held).toBe(0);
  });

  it('closes the batch with the file that would exceed it, under the rule of the seed', async () => {
    const { hold, batches } = createBatching({ PACKING: 'sequential' });
    void hold(counted(1, 600));
    void hold(counted(2, 300));
    expect(batches()).toEqual([]);
    void hold(counted(3, 200));
    await jest.advanceTimersByTimeAsync(0);
    expect(batches()).toEqual([[1, 2]]);
    await jest.advanceTimersByTimeAsync(251);
    expect(batches()).toEqual([[1, 2], [3]]);
  });

  it('counts what stands around files and batch in the tokens of the batch', async () => {
    const { hold, units } = createBatching();
    void hold(counted(1, 100));
    void hold(counted(2, 200));
    await jest.advanceTimersByTimeAsync(251);
    expect(units[0]?.drafts[0]?.totalTokens).toBe(64 + 300);
  });

  it('commits all parts of a split file in one unit, the last sharing its batch', async () => {
    const { hold, units, batches } = createBatching();
    void hold(counted(1, 990, 980, 100));
    void hold(counted(2, 50));
    await jest.advanceTimersByTimeAsync(251);
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
    batching.decided(1);
    await jest.advanceTimersByTimeAsync(251);
    expect(units).toHaveLength(1);
  });

  it('waits for quiet no longer than a moment once the scan is over, also with what waits already', async () => {
    const { batching, hold, batches } = createBatching();
    void hold(counted(1, 10));
    batching.scanned();
    await jest.advanceTimersByTimeAsync(21);
    expect(batches()).toEqual([[1]]);
    void hold(counted(2, 10));
    await jest.advanceTimersByTimeAsync(21);
    expect(batches()).toEqual([[1], [2]]);
  });

  it('closes a batch whose oldest file has lingered, although others keep coming', async () => {
    const { batching, hold, batches } = createBatching();
    void hold(counted(1, 10));
    for (let id = 2; id <= 60; id++) {
      batching.entered(1);
      await jest.advanceTimersByTimeAsync(100);
      void added(batching, counted(id, 1));
    }
    expect(batches()[0]?.[0]).toBe(1);
  });

  it('closes the fullest batch when most of the jobs it may hold wait', async () => {
    const { batching, hold, units } = createBatching({ BATCHER_CONCURRENCY: 8 });
    for (let id = 1; id <= 5; id++) void hold(counted(id, 10));
    expect(units).toEqual([]);
    void hold(counted(6, 10));
    await jest.advanceTimersByTimeAsync(0);
    expect(units).toHaveLength(1);
    expect(batching.held).toBe(0);
  });

  it('counts files that wait for one in an open batch as settled', async () => {
    const { batching, hold, units } = createBatching();
    void hold(counted(1, 10));
    batching.entered(1);
    batching.parked(1);
    await jest.advanceTimersByTimeAsync(251);
    expect(units).toHaveLength(1);
  });

  it('commits what it holds at once when it stops, and soon what still comes', async () => {
    const { batching, hold, batches } = createBatching();
    void hold(counted(1, 10));
    batching.entered(1);
    batching.entered(1);
    batching.drain();
    await jest.advanceTimersByTimeAsync(0);
    expect(batches()).toEqual([[1]]);
    void added(batching, counted(2, 10));
    await jest.advanceTimersByTimeAsync(101);
    expect(batches()).toEqual([[1], [2]]);
  });

  it('has the files wait whose content is in a batch that is yet to be delivered, and no others', async () => {
    const { batching } = createBatching({}, ['1-1']);
    batching.entered(2);
    const outcomes = Promise.allSettled([added(batching, counted(1, 1)), added(batching, counted(2, 1))]);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await outcomes).toMatchObject([
      { status: 'rejected', reason: { code: 'CONTENT_ON_ITS_WAY' } },
      { status: 'fulfilled' },
    ]);
  });

  it('rejects the files of a batch that could not be committed', async () => {
    const failing = createAccumulator(() => Promise.reject(new Error('refused')), { BATCH_QUIET_MS: 10 });
    failing.entered(1);
    const outcome = added(failing, counted(1, 1)).catch((error: Error) => error.message);
    await jest.advanceTimersByTimeAsync(11);
    expect(await outcome).toBe('refused');
    expect(failing.held).toBe(0);
  });
});

const unit = (fileId: number): CommitUnit => ({
  kind: 'fail',
  files: [{ fileId, revision: 1 }],
  error: 'x',
});
const idsOf = (units: readonly CommitUnit[]): number[] =>
  units.map((one) => (one.kind === 'fail' ? one.files[0]!.fileId : -1));

describe('commits', () => {
  it('commits what is ready together in one transaction, and what comes during it in the next', async () => {
    const groups: number[][] = [];
    const accumulator = createAccumulator(async (units) => {
      groups.push(idsOf(units));
      if (groups.length === 1) late = accumulator.commit(unit(3));
      await Promise.resolve();
      return NOTHING;
    });
    let late: Promise<unknown> = Promise.resolve();
    await Promise.all([accumulator.commit(unit(1)), accumulator.commit(unit(2))]);
    await late;
    expect(groups).toEqual([[1, 2], [3]]);
  });

  it('says at its stop how many batches it committed in total', async () => {
    const lines: Record<string, unknown>[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const logger = createLogger({ service: 'test', workerId: 'w', level: 'info', stream });
    const batches = [{ id: 'b1', items: 1, tokens: 1 }] as unknown as Committed['batches'];
    const commit = async (): Promise<Committed> => ({ ...NOTHING, batches });
    const accumulator = createAccumulator(commit, {}, logger);
    await accumulator.commit(unit(1));
    await accumulator.commit(unit(2));
    await accumulator.stop();
    expect(lines.slice(-1)).toMatchObject([{ level: 'info', msg: 'batches committed in total', batches: 2 }]);
  });

  it('commits again after it was idle', async () => {
    const groups: number[][] = [];
    const accumulator = createAccumulator(async (units) => {
      groups.push(idsOf(units));
      return NOTHING;
    });
    for (const id of [1, 2, 3]) await accumulator.commit(unit(id));
    expect(groups).toEqual([[1], [2], [3]]);
  });

  it('holds on while the database is away, and then commits', async () => {
    let tries = 0;
    const accumulator = createAccumulator(async () => {
      if (++tries < 3) throw new DatabaseClosedError();
      return NOTHING;
    });
    await accumulator.commit(unit(1));
    expect(tries).toBe(3);
  });

  it('rejects only the unit that the database refuses', async () => {
    const written: number[] = [];
    const accumulator = createAccumulator(async (units) => {
      if (idsOf(units).includes(3)) throw new Error('refused');
      written.push(...idsOf(units));
      return NOTHING;
    });
    const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map((id) => accumulator.commit(unit(id))));
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(written.sort((a, b) => a - b)).toEqual([1, 2, 4, 5]);
  });

  it('bounds the rows of a transaction', async () => {
    const sizes: number[] = [];
    const accumulator = createAccumulator(async (units) => {
      sizes.push(units.length);
      return NOTHING;
    });
    await Promise.all(Array.from({ length: 12_000 }, (_, id) => accumulator.commit(unit(id))));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(12_000);
  });

  it('gives up what waits for an absent database when it is stopped', async () => {
    const accumulator = createAccumulator(async () => {
      throw new DatabaseClosedError();
    });
    const outcomes = Promise.allSettled([accumulator.commit(unit(1))]);
    await new Promise((resolve) => setImmediate(resolve));
    await accumulator.stop();
    expect((await outcomes)[0]).toMatchObject({ status: 'rejected' });
    await expect(accumulator.commit(unit(2))).rejects.toMatchObject({ code: 'BATCHER_STOPPED' });
  });
});
