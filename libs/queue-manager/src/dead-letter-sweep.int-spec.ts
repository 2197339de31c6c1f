import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Worker } from 'bullmq';
import type { DeadLetter } from '#contracts';
import { eventually, guardLeaks, spawnBuilt, startRedis, type RedisServer } from '#testing';
import { createManager, NOTE, notes } from '../testing/managers.js';
import type { WorkerProcessOptions } from '../testing/worker.process.js';
import { giveUp } from './job-outcome.js';
import type { QueueManager } from './queue-manager.js';

const KILLS = process.env.MILLRACE_TORTURE === 'full' ? 50 : 6;

describe('dead-lettering', () => {
  guardLeaks();

  describe('with a Redis of its own', () => {
    let redis: RedisServer;
    let manager: QueueManager;

    beforeEach(async () => {
      redis = await startRedis();
      manager = createManager({ url: redis.url, prefix: 'p', sweepIntervalMs: 200 });
      await manager.start();
    });
    afterEach(async () => {
      await manager.closeConnections();
      await redis.stop();
    });

    const letters = async (): Promise<DeadLetter[]> => {
      const jobs = await manager
        .getQueue('dead-letter-queue')
        .getJobs(['wait', 'delayed', 'active'], 0, 10_000);
      return jobs.map(({ data }) => data as DeadLetter);
    };
    const startFailing = (): Promise<void> =>
      manager
        .createWorker('q', NOTE, async ({ text }) => {
          return giveUp(new Error(`no ${text}`));
        })
        .start();

    it('copies what an earlier process left in the failed set', async () => {
      // A worker of plain BullMQ stands for a process that died before it could copy.
      await manager.enqueueJobs(
        'q',
        NOTE,
        notes(120).map((note) => ({ ...note, attempts: 1 })),
      );
      const plain = new Worker(
        'q',
        async () => {
          throw new Error('died here');
        },
        { connection: { port: redis.port }, prefix: 'p', concurrency: 20 },
      );
      await eventually(async () => expect((await manager.getQueue('q').counts()).failed).toBe(120)).finally(
        () => plain.close(),
      );
      await manager.createWorker('q', NOTE, async () => {}).start();
      await eventually(async () => expect(await letters()).toHaveLength(120));
      expect(new Set((await letters()).map(({ jobId }) => jobId)).size).toBe(120);
      await eventually(async () => expect((await manager.getQueue('q').counts()).failed).toBe(0));
    });

    it('gives a requeued job that fails again a second letter', async () => {
      await startFailing();
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job' });
      await eventually(async () => expect(await letters()).toHaveLength(1));
      await eventually(async () => expect(await manager.getQueue('q').existing(['job'])).toEqual(new Set()));
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job' });
      await eventually(async () => expect(await letters()).toHaveLength(2));
    });

    it.each([
      ['is not JSON', '{oops', /not JSON/],
      ['breaks its contract', '{"text":7}', /text/],
      ['is a string of 10 MB', JSON.stringify({ text: 'x'.repeat(10_000_000) }), /1000 characters/],
      ['is a bare string of 10 MB', JSON.stringify('x'.repeat(10_000_000)), /text/],
      ['names __proto__', '{"__proto__":{"text":"x"}}', /text/],
      ['is null', 'null', /text/],
      ['is nested 100,000 deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, /text/],
    ])('gives up data that %s at once, as invalid, and goes on', async (_, data, message) => {
      const seen: string[] = [];
      await manager.enqueueJob('q', NOTE, { text: 'bad' }, { jobId: 'bad' });
      const client = await manager.getQueue('q').getBackend().client;
      await client.hset('p:q:bad', { data });
      await manager.createWorker('q', NOTE, async ({ text }) => void seen.push(text)).start();
      await manager.enqueueJob('q', NOTE, { text: 'good' }, { jobId: 'good' });
      await eventually(async () => expect(await letters()).toHaveLength(1));
      expect((await letters())[0]).toMatchObject({
        jobId: 'bad',
        reason: 'invalid',
        attemptsMade: 1,
        errorMessage: expect.stringMatching(message),
      });
      await eventually(() => expect(seen).toEqual(['good']));
      expect(JSON.stringify(await letters()).length).toBeLessThan(11_000_000);
      expect(({} as Record<string, unknown>).text).toBeUndefined();
    });

    it('gives up a job whose options are not JSON, which BullMQ alone never would', async () => {
      await manager.enqueueJob('q', NOTE, { text: 'bad' }, { jobId: 'bad' });
      const client = await manager.getQueue('q').getBackend().client;
      await client.hset('p:q:bad', { opts: '{oops' });
      await manager.createWorker('q', NOTE, async () => {}).start();
      // The worker cannot even know the job that it fetched. Its lock is ended early only to save the test ten seconds.
      await eventually(async () => expect(await client.del('p:q:bad:lock')).toBe(1));
      await eventually(async () => expect(await letters()).toHaveLength(1), { timeoutMs: 40_000 });
      expect((await letters())[0]).toMatchObject({ jobId: 'bad', reason: 'invalid' });
    }, 60_000);

    it('keeps the failed job until Redis has room for its copy', async () => {
      await manager.enqueueJobs('q', NOTE, notes(20));
      let release = (): void => {};
      const full = new Promise<void>((resolve) => (release = resolve));
      await manager
        .createWorker(
          'q',
          NOTE,
          async () => {
            await full;
            return giveUp(new Error('no'));
          },
          { concurrency: 20 },
        )
        .start();
      await eventually(async () => expect((await manager.getQueue('q').counts()).active).toBe(20));
      await redis.command('CONFIG', 'SET', 'maxmemory', '1');
      release();
      await eventually(async () => expect(await manager.health()).toMatchObject({ status: 'down' }));
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
      await eventually(async () => expect(await letters()).toHaveLength(20), { timeoutMs: 40_000 });
      await eventually(async () => expect((await manager.getQueue('q').counts()).failed).toBe(0));
    }, 60_000);

    it(`loses no failure and copies none twice when its worker is killed at any moment, ${KILLS} times`, async () => {
      const jobs = KILLS * 10;
      await manager.enqueueJobs('q', NOTE, notes(jobs));
      for (let kill = 0; kill < KILLS; kill++) {
        const options: WorkerProcessOptions = {
          url: redis.url,
          prefix: 'p',
          workerId: `victim-${kill}`,
          mode: 'fail',
          concurrency: 1 + (kill % 4),
          sweepIntervalMs: 50,
          // Between "failed" and "copied", between "copied" and "removed", and anywhere.
          fault: [
            `queue-manager.before-dead-letter:${1 + (kill % 3)}:kill`,
            `queue-manager.after-dead-letter:${1 + (kill % 3)}:kill`,
            undefined,
          ][kill % 3],
        };
        const child = spawnBuilt('libs/queue-manager/testing/worker.process', [JSON.stringify(options)]);
        if (options.fault) await child.exited;
        else {
          await child.output('"begin"');
          await child.end('SIGKILL');
        }
        expect(child.stdout).not.toContain('unhandled');
      }
      await startFailing();
      await eventually(
        async () => {
          expect(await manager.getQueue('q').counts()).toMatchObject({
            waiting: 0,
            active: 0,
            delayed: 0,
            failed: 0,
          });
          expect(await letters()).toHaveLength(jobs);
        },
        { timeoutMs: 60_000 },
      );
      expect(new Set((await letters()).map(({ jobId }) => jobId)).size).toBe(jobs);
    }, 300_000);
  });
});
