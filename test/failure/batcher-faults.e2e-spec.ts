import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { QUEUE, type DeadLetter } from '#contracts';
import { eventually, guardLeaks } from '#testing';
import { writeTree } from '../../apps/batcher/src/batcher.fixture.js';
import { BatcherRig, closeRigs, expectKept } from '../e2e/batcher-rig.js';

const full = process.env.MILLRACE_TORTURE === 'full';
const FILES = full ? 400 : 160;
const POINTS = [
  'after-fetch',
  'after-begin',
  'after-read',
  'after-count',
  'before-commit',
  'inside-transaction',
  'after-commit',
  'after-complete',
];
// Every step once; where jobs are of another size or the database another, those that bound a transaction.
const BOUNDS = ['after-fetch', 'before-commit', 'inside-transaction', 'after-commit'];
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

  it.each([
    ['sqlite', 1, full ? POINTS : BOUNDS],
    ['sqlite', 7, POINTS],
    ['postgres', full ? 100 : 20, full ? POINTS : BOUNDS],
  ] as const)(
    'loses and repeats nothing when it is killed at each of its steps (%s, %d files a job)',
    async (kind, filesPerJob, points) => {
      const rig = await BatcherRig.open({ kind, env: SMALL, filesPerJob });
      const files = await rig.add(manyFiles(FILES));
      // What a reconciler claims at its first look: files whose job was never enqueued.
      await rig.queues.getQueue(rig.queue).remove(await rig.jobOf(files[FILES - 1]!));
      const killedAt = async (point: string): Promise<void> => {
        const victim = rig.start({ MILLRACE_FAULT: `batcher.${point}:1:kill` });
        expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
      };
      await killedAt('after-claim');
      await Promise.all(points.map(killedAt));
      rig.start();
      const { batched = 0, ...others } = await rig.settled(150_000);
      // Where so many die, a job that was on trial twice when its worker was killed counts as the culprit.
      const culprits = await crashLetters(rig);
      expect(others).toEqual(culprits === 0 ? {} : { failed: culprits });
      expect(batched + culprits).toBe(FILES);
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
    await rig.add(manyFiles(42));
    const frozen = rig.start({ BATCH_LINGER_MS: '600000', BATCH_QUIET_MS: '600000' });
    await eventually(async () => expect((await rig.queues.getQueue(rig.queue).counts()).active).toBe(6), {
      timeoutMs: 60_000,
    });
    // While this transaction is open, the one that freezes cannot hold SQLite's only writer's lock for ever.
    await rig.database.inTransaction(() => frozen.freeze());
    rig.start();
    expect(await rig.settled(120_000)).toEqual({ batched: 42 });
    const before = await rig.rows('SELECT id FROM batches ORDER BY id');
    frozen.signal('SIGCONT');
    await frozen.end('SIGTERM');
    expect(await rig.rows('SELECT id FROM batches ORDER BY id')).toEqual(before);
    await expectKept(rig);
  }, 240_000);

  it.each([
    ['were read', 'before-commit:1'],
    ['were not begun', 'after-fetch:2'],
  ])(
    'takes over the jobs of a killed batcher as they are when their files %s',
    async (_, point) => {
      const rig = await BatcherRig.open({ filesPerJob: 50 });
      await rig.add(manyFiles(100));
      const victim = rig.start({ MILLRACE_FAULT: `batcher.${point}:kill` });
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
      rig.start();
      expect(await rig.settled(150_000)).toEqual({ batched: 100 });
      await expectKept(rig);
      await eventually(async () =>
        expect(await rig.queues.getQueue(rig.queue).counts()).toMatchObject({ completed: 2, active: 0 }),
      );
    },
    240_000,
  );

  it('takes over the 100 jobs of a killed batcher in a few batches, not one by one', async () => {
    const rig = await BatcherRig.open({ filesPerJob: 1 });
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

  it.each(['after-leave', 'after-divide'])(
    'loses nothing and fails one file when it is killed while that leaves its job (%s)',
    async (point) => {
      const rig = await BatcherRig.open({ env: { JOB_ATTEMPTS: '2', BATCH_QUIET_MS: '50' } });
      const paths = writeTree(rig.folder, manyFiles(6));
      await rig.addPaths([...paths, join(rig.folder, 'x'.repeat(300))]);
      const victim = rig.start({ MILLRACE_FAULT: `batcher.${point}:1:kill` });
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
      rig.start();
      expect(await rig.settled(120_000)).toEqual({ batched: 6, failed: 1 });
      const [letter, ...others] = await eventually(async () => {
        const jobs = await rig.queues.getQueue(QUEUE.deadLetter).getJobs(['wait']);
        expect(jobs.length).toBeGreaterThan(0);
        return jobs.map(({ data }) => data as DeadLetter);
      });
      expect(others).toEqual([]);
      expect(letter).toMatchObject({ errorName: 'FileUnreadError', attemptsMade: 2 });
      expect(letter?.data).toMatchObject({ filePath: expect.stringMatching(/x{300}$/) });
      await expectKept(rig);
    },
    240_000,
  );

  it('gives each file of a job a job of its own when its batcher died while it read them, and uses up no attempt', async () => {
    const rig = await BatcherRig.open({ filesPerJob: 50 });
    const files = await rig.add(manyFiles(50));
    const victim = rig.start({ MILLRACE_FAULT: 'batcher.after-begin:1:kill' });
    expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
    rig.start({ BATCH_QUIET_MS: '1000' });
    expect(await rig.settled(150_000)).toEqual({ batched: 50 });
    await expectKept(rig);
    const queue = rig.queues.getQueue(rig.queue);
    await eventually(async () => expect((await queue.counts()).completed).toBe(51));
    const alone = await Promise.all(files.map(({ id }) => queue.getJob(`f-${id}-1`)));
    expect(new Set(alone.map((job) => `${job?.attemptsMade} of ${job?.opts.attempts}`))).toEqual(
      new Set(['1 of 5']),
    );
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
