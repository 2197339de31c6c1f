import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { guardLeaks, sharedRedis } from '#testing';
import { createManager } from '../testing/managers.js';
import { ANY_PAYLOAD, type JobQueue, type QueueManager } from './index.js';

describe('dead letters that nobody has taken in', () => {
  let queues: QueueManager;
  let letters: JobQueue;

  beforeEach(async () => {
    queues = createManager(sharedRedis());
    await queues.start();
    letters = queues.getQueue(queues.settings.deadLetterQueue);
    await letters.enqueue(ANY_PAYLOAD, [
      { jobId: 'dl-a', payload: { queue: 'q', jobId: 'a' } },
      { jobId: 'dl-b', payload: { queue: 'other', jobId: 'b' } },
    ]);
  });
  afterEach(() => queues.closeConnections());
  guardLeaks();

  /** Moves the first letter where a state of BullMQ keeps its jobs. */
  async function moveTo(state: 'active' | 'delayed' | 'failed' | 'prioritized'): Promise<void> {
    await queues.gate.run('move a letter', async (client) => {
      await client.lrem(letters.toKey('wait'), 0, 'dl-a');
      if (state === 'active') await client.lpush(letters.toKey(state), 'dl-a');
      else await client.zadd(letters.toKey(state), 1, 'dl-a');
    });
  }

  it.each(['active', 'delayed', 'failed', 'prioritized'] as const)(
    'are found by queue and job while their own job is %s',
    async (state) => {
      await moveTo(state);
      expect(await queues.deadLetters.contains('q', new Set(['a', 'b']))).toEqual(new Set(['a']));
      expect(await queues.deadLetters.count()).toBe(2);
    },
  );

  it('are found while they wait, on whatever page', async () => {
    await letters.enqueue(
      ANY_PAYLOAD,
      Array.from({ length: 450 }, (_, n) => ({ jobId: `dl-${n}x`, payload: { queue: 'q', jobId: `${n}` } })),
    );
    expect(await queues.deadLetters.contains('q', new Set(['a', '449', 'no']))).toEqual(
      new Set(['a', '449']),
    );
  });

  it('are not said of jobs of another queue, nor of strangers among the letters', async () => {
    await letters.enqueue(ANY_PAYLOAD, [{ jobId: 'dl-c', payload: 'no object' }]);
    expect(await queues.deadLetters.contains('q', new Set(['b']))).toEqual(new Set());
  });

  it('can be stored from where they are when their job was given up or put off', async () => {
    await moveTo('failed');
    const [aside, ...rest] = await queues.deadLetters.setAside(10);
    expect(rest).toEqual([]);
    expect(aside).toMatchObject({ jobId: 'dl-a', data: { queue: 'q', jobId: 'a' } });
    expect(await aside?.remove()).toBe(true);
    expect(await queues.deadLetters.setAside(10)).toEqual([]);
  });
});
