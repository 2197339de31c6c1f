import { describe, expect, it } from '@jest/globals';
import { QUEUE, type DeadLetter } from '#contracts';
import { DATABASE_KINDS, eventually, guardLeaks } from '#testing';
import { BatcherRig, closeRigs, expectKept } from '../e2e/batcher-rig.js';

const POINTS = [
  'after-fetch',
  'after-read',
  'after-count',
  'before-commit',
  'inside-transaction',
  'after-commit',
  'after-complete',
];
const manyFiles = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`f${n}.txt`, `file ${n} ${'word '.repeat(n % 50)}`]),
  );
// Small and short-lived, so that a killed batcher leaves others' files alone.
const SMALL = {
  BATCHER_CONCURRENCY: '20',
  MAX_BATCH_TOKENS: '1000',
  BATCH_LINGER_MS: '200',
  BATCH_QUIET_MS: '50',
};

async function crashLetters(rig: BatcherRig): Promise<number> {
  const letters = await rig.queues.getQueue(QUEUE.deadLetter).getJobs(['wait']);
  return letters.filter(({ data }) => (data as DeadLetter).reason === 'crash').length;
}

describe('batcher under faults', () => {
  closeRigs();
  guardLeaks();

  it.each(DATABASE_KINDS)(
    'loses and repeats nothing when it is killed at each of its steps (%s)',
    async (kind) => {
      const rig = await BatcherRig.open({ kind, env: SMALL });
      const files = await rig.add(manyFiles(400));
      // What a reconciler claims at its first look: a file whose job was never enqueued.
      await rig.queues.getQueue(rig.queue).remove(`f-${files[399]!.id}-1`);
      const killedAt = async (point: string): Promise<void> => {
        const victim = rig.start({ MILLRACE_FAULT: `batcher.${point}:1:kill` });
        expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
      };
      await killedAt('after-claim');
      await Promise.all(POINTS.map(killedAt));
      rig.start();
      const { batched = 0, ...others } = await rig.settled(150_000);
      // Where so many die, a job that was on trial twice when its worker was killed counts as the culprit.
      const culprits = await crashLetters(rig);
      expect(others).toEqual(culprits === 0 ? {} : { failed: culprits });
      expect(batched + culprits).toBe(400);
      await expectKept(rig);
    },
    300_000,
  );

  it('tries again what threw at a step, and commits it once', async () => {
    const rig = await BatcherRig.open({ env: SMALL });
    for (const point of ['after-read', 'inside-transaction', 'after-commit']) {
      await rig.add(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${point}-${n}`, `file ${n}`])));
      const app = rig.start({ MILLRACE_FAULT: `batcher.${point}:1:throw` });
      await rig.settled(60_000);
      expect((await app.end('SIGTERM')).code).toBe(0);
    }
    expect(await rig.statuses()).toEqual({ batched: 90 });
    await expectKept(rig);
  }, 240_000);

  it('refuses what a frozen batcher commits late, after others did its work', async () => {
    const rig = await BatcherRig.open();
    await rig.add(manyFiles(40));
    const frozen = rig.start({ BATCH_LINGER_MS: '600000', BATCH_QUIET_MS: '600000' });
    await eventually(async () => expect((await rig.queues.getQueue(rig.queue).counts()).active).toBe(40), {
      timeoutMs: 60_000,
    });
    frozen.signal('SIGSTOP');
    rig.start();
    expect(await rig.settled(120_000)).toEqual({ batched: 40 });
    const before = await rig.rows('SELECT id FROM batches ORDER BY id');
    frozen.signal('SIGCONT');
    await frozen.end('SIGTERM');
    expect(await rig.rows('SELECT id FROM batches ORDER BY id')).toEqual(before);
    await expectKept(rig);
  }, 240_000);

  it('takes over the 100 jobs of a killed batcher in a few batches, not one by one', async () => {
    const rig = await BatcherRig.open();
    await rig.add(manyFiles(100));
    const victim = rig.start({ BATCH_LINGER_MS: '600000', BATCH_QUIET_MS: '600000' });
    await eventually(async () => expect((await rig.queues.getQueue(rig.queue).counts()).active).toBe(100), {
      timeoutMs: 60_000,
    });
    await victim.end('SIGKILL');
    rig.start({ BATCH_QUIET_MS: '1000' });
    expect(await rig.settled(150_000)).toEqual({ batched: 100 });
    await expectKept(rig);
    expect((await rig.rows('SELECT id FROM batches')).length).toBeLessThan(20);
  }, 240_000);

  it('batches what a database has waiting when Redis starts empty, without waiting', async () => {
    const rig = await BatcherRig.open({ env: { RECOVERY_AGE_MS: '3600000' } });
    await rig.add(manyFiles(50));
    await rig.queues.getQueue(rig.queue).obliterate({ force: true });
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 50 });
    await expectKept(rig);
  }, 120_000);
});
