import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Metrics } from '#service';
import { fullPool, item, poolOf } from '../testing/items.js';
import type { WorkItem } from './worker-pool.js';
import { ItemFailedError } from './worker-pool.errors.js';

describe('a failing item', () => {
  const failures: [string, WorkItem['process'], unknown][] = [
    ['rejects', () => Promise.reject(new Error('no')), expect.objectContaining({ message: 'no' })],
    [
      'throws before it returns a promise',
      () => {
        throw new Error('sync');
      },
      expect.objectContaining({ message: 'sync' }),
    ],
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the pool must survive it
    ['rejects with undefined', () => Promise.reject(undefined), undefined],
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the pool must survive it
    ['rejects with text', () => Promise.reject('text'), 'text'],
    ['rejects with an object without prototype', () => Promise.reject(Object.create(null) as Error), {}],
  ];

  it.each(failures)('that %s is counted, and the worker goes on', async (_how, process, cause) => {
    const pool = poolOf();
    let next = false;
    await pool.submit(item('bad', process));
    await pool.submit(item('good', async () => void (next = true)));
    await pool.idle();
    expect(next).toBe(true);
    expect(pool.metrics()).toMatchObject({ failed: 1, processed: 1, active: 0 });
    pool.stop();
    const [error] = await pool.wait();
    expect(error).toBeInstanceOf(ItemFailedError);
    expect(error).toMatchObject({ item: 'bad' });
    expect(error?.message).toMatch(/^item bad failed: ./);
    expect(error?.cause).toEqual(cause);
  });

  it('is logged with its id and the stack of what it threw', async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino(
      {},
      { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    );
    const pool = poolOf({ logger, name: 'scan' });
    const cause = new Error('disk on fire');
    await pool.submit(item('bad', () => Promise.reject(cause)));
    await pool.idle();
    expect(lines).toMatchObject([{ level: 50, pool: 'scan', item: 'bad' }]);
    expect((lines[0]?.err as { stack: string }).stack).toContain(cause.stack);
  });
});

describe('metrics', () => {
  it('account for every item that was accepted, at any moment', async () => {
    const { pool, busy } = await fullPool();
    const balanced = (): boolean => {
      const { queued, waiting, active, processed, failed, abandoned } = pool.metrics();
      return queued === 11 && waiting + active + processed + failed + abandoned === 11;
    };
    expect(balanced()).toBe(true);
    busy.release.reject(new Error('no'));
    await turn();
    expect(balanced()).toBe(true);
    pool.stop();
    await pool.wait();
    expect(balanced()).toBe(true);
  });

  it('are exported under the name of the pool', async () => {
    const metrics = new Metrics();
    const { pool, busy } = await fullPool({ metrics, name: 'scan' });
    const read = async (): Promise<string[]> =>
      (await metrics.text()).split('\n').filter((line) => line.includes('pool="scan"'));
    expect(await read()).toEqual(
      expect.arrayContaining([
        'millrace_pool_queued_total{pool="scan"} 11',
        'millrace_pool_waiting{pool="scan"} 10',
        'millrace_pool_active{pool="scan"} 1',
      ]),
    );
    pool.stop();
    busy.release.reject(new Error('no'));
    await pool.wait();
    expect(await read()).toEqual(
      expect.arrayContaining([
        'millrace_pool_waiting{pool="scan"} 0',
        'millrace_pool_active{pool="scan"} 0',
        'millrace_pool_failed_total{pool="scan"} 1',
        'millrace_pool_abandoned_total{pool="scan"} 10',
      ]),
    );
  });
});
