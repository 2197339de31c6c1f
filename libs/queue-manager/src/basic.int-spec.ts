import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANALYSIS_COMPLETED } from '#contracts';
import { Metrics, silentLogger } from '#service';
import { eventually, guardLeaks, sharedRedis } from '#testing';
import { QueueManager } from './queue-manager.js';

describe('QueueManager', () => {
  guardLeaks();

  describe('on a healthy Redis', () => {
    let manager: QueueManager;
    beforeEach(async () => {
      manager = new QueueManager({
        ...sharedRedis(),
        workerId: 'test-worker',
        logger: silentLogger,
        metrics: new Metrics(),
      });
      await manager.start();
    });
    afterEach(() => manager.closeConnections());

    it('delivers what was enqueued', async () => {
      const seen: string[] = [];
      const worker = manager.createWorker('q', ANALYSIS_COMPLETED, async ({ batchId }) => {
        seen.push(batchId);
      });
      await worker.start();
      await manager.enqueueJobs(
        'q',
        ANALYSIS_COMPLETED,
        ['a', 'b', 'c'].map((batchId) => ({ jobId: `id-${batchId}`, payload: { batchId, items: 1 } })),
      );
      await eventually(() => expect(seen.sort()).toEqual(['a', 'b', 'c']));
    });
  });
});
