import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { currentTrace, createLogger, Metrics, newTrace, withTrace } from '#service';
import { eventually, freePort, guardLeaks, sharedRedis, startRedis } from '#testing';
import { createManager, NOTE, notes } from '../testing/managers.js';
import { giveUp, retryAfter } from './job-outcome.js';
import { QueueManagerModule } from './queue-manager.module.js';
import { QueueManager } from './queue-manager.js';

describe('QueueManager', () => {
  guardLeaks();

  describe('on a healthy Redis', () => {
    let manager: QueueManager;
    let metrics: Metrics;

    beforeEach(async () => {
      metrics = new Metrics();
      manager = createManager({ ...sharedRedis(), metrics, keepCompleted: { ageMs: 60_000, count: 100 } });
      await manager.start();
    });
    afterEach(() => manager.closeConnections());

    const deadLetters = async (): Promise<Record<string, unknown>[]> =>
      (await manager.getQueue('dead-letter-queue').getJobs(['wait'])).map(
        ({ data }) => data as Record<string, unknown>,
      );

    it('delivers what was enqueued, in order of arrival', async () => {
      const seen: string[] = [];
      await manager.enqueueJobs('q', NOTE, notes(1_200));
      await manager.createWorker('q', NOTE, async ({ text }) => void seen.push(text)).start();
      await eventually(() => expect(seen).toEqual(notes(1_200).map(({ payload }) => payload.text)));
    });

    it('caches one queue a name', () => {
      expect(manager.getQueue('q')).toBe(manager.getQueue('q'));
      expect(manager.getQueue('q')).not.toBe(manager.getQueue('r'));
    });

    it('refuses an invalid payload before anything is sent, listing the faults', async () => {
      const items = [...notes(3), { jobId: 'bad', payload: { text: 7 as unknown as string } }];
      await expect(manager.enqueueJobs('q', NOTE, items)).rejects.toMatchObject({
        code: 'INVALID_PAYLOAD',
        faults: [expect.objectContaining({ path: 'text' })],
      });
      expect((await manager.getQueue('q').counts()).waiting).toBe(0);
    });

    it.each(['17', 'a:b', '', 'x'.repeat(257)])('refuses the job id %p', async (jobId) => {
      await expect(manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId })).rejects.toMatchObject({
        code: 'INVALID_JOB_ID',
      });
    });

    it('ignores a second job of the same id, also after the first completed', async () => {
      let runs = 0;
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'same' });
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'same' });
      await manager.createWorker('q', NOTE, async () => void runs++).start();
      await eventually(async () => expect((await manager.getQueue('q').counts()).completed).toBe(1));
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'same' });
      expect(await manager.getQueue('q').counts()).toMatchObject({ waiting: 0, active: 0, completed: 1 });
      expect(runs).toBe(1);
    });

    it('tries a failing job again and dead-letters it when its attempts are used up', async () => {
      let runs = 0;
      const worker = manager.createWorker('q', NOTE, async (_, { attempt }) => {
        runs++;
        throw new Error(`no ${attempt}`, { cause: new TypeError('root') });
      });
      await worker.start();
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job', attempts: 3 });
      const [letter] = await eventually(async () => {
        const letters = await deadLetters();
        return letters.length === 1 && letters;
      });
      expect(runs).toBe(3);
      expect(letter).toMatchObject({
        queue: 'q',
        jobId: 'job',
        jobName: 'note',
        reason: 'error',
        errorMessage: 'no 3',
        attemptsMade: 3,
        lastWorkerId: 'worker-a',
        attempts: [{ error: 'Error: no 1' }, { error: 'Error: no 2' }, { error: 'Error: no 3' }],
        stack: expect.stringMatching(/Error: no 3\n {4}at [^]*Caused by: TypeError: root\n {4}at /),
      });
      expect((await manager.getQueue('q').counts()).failed).toBe(0);
    });

    it('lets a failing job wait longer before each further attempt', async () => {
      const patient = createManager({
        ...sharedRedis(),
        metrics,
        retry: { baseMs: 60_000, maxMs: 600_000 },
        random: () => 0.5,
      });
      const waits: number[] = [];
      try {
        await patient.start();
        const queue = patient.getQueue('q');
        await patient.createWorker('q', NOTE, () => Promise.reject(new Error('no'))).start();
        await patient.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job', attempts: 4 });
        for (let attempt = 1; attempt < 4; attempt++) {
          const [job] = await eventually(async () => {
            const delayed = await queue.getJobs(['delayed']);
            return delayed[0]?.attemptsMade === attempt && delayed;
          });
          waits.push(job?.delay ?? 0);
          if (attempt < 3) await job?.promote();
        }
      } finally {
        await patient.closeConnections();
      }
      expect(waits).toEqual([30_000, 60_000, 120_000]);
    });

    it('dead-letters a permanent failure at once', async () => {
      let runs = 0;
      const worker = manager.createWorker('q', NOTE, async () => {
        runs++;
        return giveUp(new Error('never', { cause: new Error('why') }));
      });
      await worker.start();
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job' });
      await eventually(async () => expect(await deadLetters()).toHaveLength(1));
      expect(runs).toBe(1);
    });

    it('uses up no attempt when the processor asks for more time', async () => {
      const attempts: number[] = [];
      const worker = manager.createWorker('q', NOTE, async (_, { attempt }) => {
        attempts.push(attempt);
        if (attempts.length < 4) return retryAfter(10);
      });
      await worker.start();
      await manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job', attempts: 1 });
      await eventually(async () => expect((await manager.getQueue('q').counts()).completed).toBe(1));
      expect(attempts).toEqual([1, 1, 1, 1]);
    });

    it('carries the trace of the caller to the processor and its log lines', async () => {
      const trace = newTrace();
      let seen: (string | undefined)[] = [];
      const worker = manager.createWorker('q', NOTE, async (_, context) => {
        seen = [context.trace, currentTrace()];
      });
      await worker.start();
      await withTrace(trace, () => manager.enqueueJob('q', NOTE, { text: 'x' }, { jobId: 'job' }));
      await eventually(() => expect(seen).toEqual([trace, trace]));
    });

    it('holds several hundred jobs open until their batch ends', async () => {
      const open: (() => void)[] = [];
      const worker = manager.createWorker(
        'q',
        NOTE,
        () => new Promise<void>((resolve) => open.push(resolve)),
        { concurrency: 300 },
      );
      await worker.start();
      await manager.enqueueJobs('q', NOTE, notes(300));
      await eventually(() => expect(open).toHaveLength(300));
      expect((await manager.getQueue('q').counts()).active).toBe(300);
      open.forEach((resolve) => resolve());
      await eventually(async () => expect((await manager.getQueue('q').counts()).active).toBe(0));
    });

    it('tells which jobs exist, counts, the age of the oldest, and which server answers', async () => {
      await manager.enqueueJobs('q', NOTE, notes(3));
      expect(await manager.getQueue('q').existing(['note-0', 'nobody', 'note-2'])).toEqual(
        new Set(['note-0', 'note-2']),
      );
      expect(await manager.getQueue('q').counts()).toMatchObject({
        waiting: 3,
        active: 0,
        delayed: 0,
        failed: 0,
      });
      await eventually(async () => expect(await manager.getQueue('q').oldestWaitingMs()).toBeGreaterThan(0));
      expect(await manager.runId()).toMatch(/^[0-9a-f]{40}$/);
      expect(await manager.runId()).toBe(await manager.runId());
    });

    it('tells which jobs have completed', async () => {
      const worker = manager.createWorker('q', NOTE, async ({ text }) => {
        if (text === 'held') await new Promise<void>((resolve) => (release = resolve));
      });
      let release = (): void => {};
      await manager.enqueueJob('q', NOTE, { text: 'done' }, { jobId: 'done' });
      await worker.start();
      await eventually(async () => expect((await manager.getQueue('q').counts()).completed).toBe(1));
      await manager.enqueueJob('q', NOTE, { text: 'held' }, { jobId: 'held' });
      await eventually(async () => expect((await manager.getQueue('q').counts()).active).toBe(1));
      await manager.enqueueJob('q', NOTE, { text: 'waits' }, { jobId: 'waits' });
      const ids = ['done', 'held', 'waits', 'nobody'];
      expect(await manager.getQueue('q').completed(ids)).toEqual(new Set(['done']));
      release();
    });

    it('reports queues, durations, dead letters and the breaker as metrics', async () => {
      const worker = manager.createWorker('q', NOTE, async ({ text }) => {
        if (text === 'bad') return giveUp(new Error('bad'));
      });
      await worker.start();
      await manager.enqueueJob('q', NOTE, { text: 'good' }, { jobId: 'good' });
      await manager.enqueueJob('q', NOTE, { text: 'bad' }, { jobId: 'bad' });
      await manager.enqueueJob('q', NOTE, { text: 'later' }, { jobId: 'later', delayMs: 60_000 });
      await eventually(async () => {
        const text = await metrics.text();
        expect(text).toContain('millrace_queue_jobs{queue="q",state="completed"} 1');
        expect(text).toContain('millrace_queue_jobs{queue="q",state="delayed"} 1');
        expect(text).toContain('millrace_job_duration_seconds_count{queue="q",outcome="completed"} 1');
        expect(text).toContain('millrace_dead_letters_total{queue="q",reason="error"} 1');
        expect(text).toContain('millrace_dead_letter_queue_jobs 1');
        expect(text).toContain('millrace_redis_circuit{state="closed"} 1');
        expect(text).toMatch(/millrace_queue_oldest_waiting_seconds\{queue="dead-letter-queue"\} [\d.]+/);
      });
    });

    it('recreates a worker that has stopped fetching', async () => {
      const local = createManager({ ...sharedRedis(), recreateAfterMs: 400 });
      await local.start();
      const seen: string[] = [];
      const worker = local.createWorker('q', NOTE, async ({ text }) => void seen.push(text));
      await worker.start();
      // Parks it as a lost wake-up would: alive, connected, and fetching nothing.
      const { bull } = worker as unknown as { bull: { pause(now: boolean): Promise<void> } };
      await bull.pause(true);
      await local.enqueueJobs('q', NOTE, notes(1));
      await eventually(() => expect(seen).toEqual(['note 0']));
      await local.closeConnections();
    });

    it('closes once, however often it is asked, and refuses work afterwards', async () => {
      await manager.createWorker('q', NOTE, async () => {}).start();
      await Promise.all([manager.closeConnections(), manager.stop(), manager.closeConnections()]);
      expect(() => manager.getQueue('q')).toThrow(expect.objectContaining({ code: 'QUEUE_MANAGER_CLOSED' }));
      await expect(manager.enqueueJobs('q', NOTE, notes(1))).rejects.toMatchObject({
        code: 'QUEUE_MANAGER_CLOSED',
      });
    });
  });

  it('is provided to a Nest app as one instance', async () => {
    const options = { ...sharedRedis(), workerId: 'w', metrics: new Metrics() };
    const logger = createLogger({ service: 's', workerId: 'w', level: 'silent' });
    const module = await Test.createTestingModule({ imports: [QueueManagerModule.fromConfig()] })
      .overrideProvider(QueueManager)
      .useFactory({ factory: () => new QueueManager({ ...options, logger }) })
      .compile();
    const manager = module.get(QueueManager);
    expect(module.get(QueueManager)).toBe(manager);
    await manager.start();
    expect(await manager.health()).toEqual({ status: 'up' });
    await manager.closeConnections();
    await module.close();
  });

  it('does not start without Redis, says so in bounded time, and leaves nothing open', async () => {
    const manager = createManager({ url: `redis://127.0.0.1:${await freePort()}` });
    await expect(manager.start()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(await manager.health()).toMatchObject({ status: 'down' });
    await manager.closeConnections();
  });

  it('starts when Redis appears after a first attempt failed', async () => {
    const port = await freePort();
    const manager = createManager({ url: `redis://127.0.0.1:${port}` });
    await expect(manager.start()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    const redis = await startRedis({ port });
    await eventually(() => manager.start(), { timeoutMs: 25_000 });
    await manager.closeConnections();
    await redis.stop();
  });

  it('refuses a Redis that evicts, unless told to warn only', async () => {
    const redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const strict = createManager({ url: redis.url });
    await expect(strict.start()).rejects.toMatchObject({ code: 'REDIS_EVICTS', fatal: true });
    const lenient = createManager({ url: redis.url, evictionPolicy: 'warn' });
    await lenient.start();
    await Promise.all([strict.closeConnections(), lenient.closeConnections()]);
    await redis.stop();
  });
});
