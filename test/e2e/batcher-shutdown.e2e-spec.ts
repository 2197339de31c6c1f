import { describe, expect, it } from '@jest/globals';
import { eventually, guardLeaks } from '#testing';
import { BatcherRig, closeRigs, expectKept } from './batcher-rig.js';

const FILES = 500;
const HOLD = { BATCH_LINGER_MS: '600000', BATCH_QUIET_MS: '600000', BATCHER_CONCURRENCY: '2000' };

async function openHolding(filesPerJob: number): Promise<BatcherRig> {
  const rig = await BatcherRig.open({ env: HOLD, filesPerJob });
  await rig.add(Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`f${n}.txt`, `file ${n}`])));
  return rig;
}

const held = (rig: BatcherRig, jobs: number): Promise<unknown> =>
  eventually(async () => expect((await rig.queues.getQueue(rig.queue).counts()).active).toBe(jobs), {
    timeoutMs: 60_000,
  });

describe.each([1, 100])('batcher that is told to stop with 500 files held, %d a job', (filesPerJob) => {
  const jobs = FILES / filesPerJob;
  closeRigs();
  guardLeaks();

  it('commits or hands back every one before it exits with 0', async () => {
    const rig = await openHolding(filesPerJob);
    const app = rig.start();
    await held(rig, jobs);
    expect(await app.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const { batched = 0 } = await rig.statuses();
    const { waiting, active, completed } = await rig.queues.getQueue(rig.queue).counts();
    // Every job is done with, or waits; one that waits may have had files batched, when the time for the end was over by then.
    expect({ active, rest: completed + waiting }).toEqual({ active: 0, rest: jobs });
    expect(batched).toBeGreaterThanOrEqual(completed * filesPerJob);
    expect(batched).toBeGreaterThan(0);
    await expectKept(rig);
  }, 120_000);

  it('hands back all of them when the database does not answer', async () => {
    const rig = await openHolding(filesPerJob);
    const app = rig.start({ MILLRACE_FAULT: 'batcher.before-commit:1:hang' });
    await held(rig, jobs);
    expect(await app.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await rig.queues.getQueue(rig.queue).counts()).toMatchObject({
      waiting: jobs,
      active: 0,
      delayed: 0,
      completed: 0,
    });
    expect(await rig.statuses()).toEqual({ pending: FILES });
    // No attempt was used up, so the next batcher does it all.
    rig.start({ BATCH_QUIET_MS: '100' });
    expect(await rig.settled()).toEqual({ batched: FILES });
    await expectKept(rig);
  }, 180_000);

  it('stops at a second signal too, and before it has started', async () => {
    const rig = await openHolding(filesPerJob);
    const app = rig.start();
    await app.output('batcher listening', 60_000);
    app.signal('SIGINT');
    expect(await app.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await rig.queues.getQueue(rig.queue).counts()).active).toBe(0);
  }, 90_000);
});
