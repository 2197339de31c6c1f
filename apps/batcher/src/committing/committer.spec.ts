import { describe, expect, it } from '@jest/globals';
import { DatabaseClosedError } from '#database';
import { createLogger, silentLogger } from '#service';
import { Committer } from './committer.js';
import type { Committed, CommitUnit } from './commit-unit.js';

const NOTHING: Committed = { batches: [], refused: 0, touched: 0, onTheirWay: new Set() };
const unit = (fileId: number): CommitUnit => ({ kind: 'fail', fileId, revision: 1, error: 'x' });
const idsOf = (units: readonly CommitUnit[]): number[] =>
  units.map((one) => (one.kind === 'fail' ? one.fileId : -1));

function createCommitter(commit: (units: readonly CommitUnit[]) => Promise<Committed>): Committer {
  return new Committer({ commit, logger: silentLogger, onCommitted: () => {} });
}

describe('Committer', () => {
  it('commits what is ready together in one transaction, and what comes during it in the next', async () => {
    const groups: number[][] = [];
    const committer = createCommitter(async (units) => {
      groups.push(idsOf(units));
      if (groups.length === 1) late = committer.commit(unit(3));
      await Promise.resolve();
      return NOTHING;
    });
    let late: Promise<unknown> = Promise.resolve();
    await Promise.all([committer.commit(unit(1)), committer.commit(unit(2))]);
    await late;
    expect(groups).toEqual([[1, 2], [3]]);
  });

  it('says at its stop how many batches it committed in total', async () => {
    const lines: Record<string, unknown>[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const logger = createLogger({ service: 'test', workerId: 'w', level: 'info', stream });
    const batches = [{ id: 'b1', items: 1, tokens: 1 }] as unknown as Committed['batches'];
    const commit = async (): Promise<Committed> => ({ ...NOTHING, batches });
    const committer = new Committer({ commit, logger, onCommitted: () => {} });
    await committer.commit(unit(1));
    await committer.commit(unit(2));
    await committer.stop();
    expect(lines).toMatchObject([{ level: 'info', msg: 'batches committed in total', batches: 2 }]);
  });

  it('commits again after it was idle', async () => {
    const groups: number[][] = [];
    const committer = createCommitter(async (units) => {
      groups.push(idsOf(units));
      return NOTHING;
    });
    for (const id of [1, 2, 3]) await committer.commit(unit(id));
    expect(groups).toEqual([[1], [2], [3]]);
  });

  it('holds on while the database is away, and then commits', async () => {
    let tries = 0;
    const committer = createCommitter(async () => {
      if (++tries < 3) throw new DatabaseClosedError();
      return NOTHING;
    });
    await committer.commit(unit(1));
    expect(tries).toBe(3);
  });

  it('rejects only the unit that the database refuses', async () => {
    const written: number[] = [];
    const committer = createCommitter(async (units) => {
      if (idsOf(units).includes(3)) throw new Error('refused');
      written.push(...idsOf(units));
      return NOTHING;
    });
    const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map((id) => committer.commit(unit(id))));
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
    const committer = createCommitter(async (units) => {
      sizes.push(units.length);
      return NOTHING;
    });
    await Promise.all(Array.from({ length: 12_000 }, (_, id) => committer.commit(unit(id))));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(12_000);
  });

  it('gives up what waits for an absent database when it is stopped', async () => {
    const committer = createCommitter(async () => {
      throw new DatabaseClosedError();
    });
    const outcomes = Promise.allSettled([committer.commit(unit(1))]);
    await new Promise((resolve) => setImmediate(resolve));
    await committer.stop();
    expect((await outcomes)[0]).toMatchObject({ status: 'rejected' });
    await expect(committer.commit(unit(2))).rejects.toMatchObject({ code: 'BATCHER_STOPPED' });
  });
});
