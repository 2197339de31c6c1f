import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually, guardLeaks, pipelineRedis, spawnApp, startRedis, type RedisServer } from '#testing';
import { openQueues } from '../../apps/batcher/src/batcher.fixture.js';
import { ProducerRig } from './producer.fixture.js';

const FOLDERS = 30;
const FILES = 3_000;

describe('what a file costs Redis from the scan to its batch', () => {
  let redis: RedisServer;
  let rig: ProducerRig;
  afterEach(async () => {
    await rig.stop();
    await redis.stop();
  });
  guardLeaks();

  /** Scripts that Redis has run so far. */
  const scripts = async (): Promise<number> => {
    const queues = await openQueues(
      await pipelineRedis({ url: redis.url, prefix: rig.prefix }, rig.database.url),
    );
    const stats = await queues.gate.run('count commands', (client) => client.info('commandstats'));
    await queues.closeConnections();
    const counts = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].map(([, n]) => Number(n));
    return counts.reduce((sum, n) => sum + n, 0);
  };

  it('is at most a twentieth of a script', async () => {
    redis = await startRedis();
    rig = await ProducerRig.start(redis.url);
    rig.plant(FOLDERS, FILES / FOLDERS);
    expect((await rig.run()).summary).toMatchObject({ enqueued: FILES });
    const batcher = spawnApp('batcher', rig.env());
    await eventually(
      async () =>
        expect(await rig.query("SELECT count(*) AS n FROM files WHERE status = 'batched'")).toEqual([
          { n: FILES },
        ]),
      { timeoutMs: 60_000 },
    );
    await batcher.end('SIGTERM');
    expect((await scripts()) / FILES).toBeLessThanOrEqual(0.05);
  }, 120_000);
});
