import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually, guardLeaks, startRedis, type RedisServer } from '#testing';
import { createManager, NOTE } from '../testing/managers.js';
import type { QueueManager } from './queue-manager.js';

const HOUR_MS = 3_600_000;
const realNow = Date.now.bind(Date);

describe('delayed jobs', () => {
  guardLeaks();

  describe('among wrong clocks', () => {
    let redis: RedisServer;
    let manager: QueueManager;
    let ran: string[];

    beforeEach(async () => {
      ran = [];
      redis = await startRedis();
      manager = createManager({ url: redis.url, prefix: 'p', sweepIntervalMs: 200 });
      await manager.start();
    });
    afterEach(async () => {
      jest.restoreAllMocks();
      await manager.closeConnections();
      await redis.stop();
    });

    const clockIsWrongBy = (ms: number): void =>
      void jest.spyOn(Date, 'now').mockImplementation(() => realNow() + ms);
    const delay = (jobId: string, delayMs: number): Promise<void> =>
      manager.enqueueJob('q', NOTE, { text: jobId }, { jobId, delayMs });
    const work = (): Promise<void> =>
      manager.createWorker('q', NOTE, async ({ text }) => void ran.push(text)).start();

    it('run after their delay when the clock that delayed them was ahead; others keep their time', async () => {
      await delay('sound', HOUR_MS / 2);
      clockIsWrongBy(HOUR_MS);
      await delay('early', 100);
      jest.restoreAllMocks();
      await work();
      await eventually(() => expect(ran).toEqual(['early']));
      expect(await manager.getQueue('q').counts()).toMatchObject({ delayed: 1, waiting: 0 });
    });

    it('run when the clocks of all workers are behind', async () => {
      await delay('late', 100);
      clockIsWrongBy(-HOUR_MS);
      await work();
      await eventually(() => expect(ran).toEqual(['late']));
    });
  });
});
