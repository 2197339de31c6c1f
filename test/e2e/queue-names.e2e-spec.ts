import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { QueueManager, ANY_PAYLOAD } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import { eventually, pipelineRedis, spawnApp, type Child } from '#testing';
import { ProducerRig } from './producer.fixture.js';

const NAMES = {
  PATH_DISCOVERY_QUEUE: 'my-files',
  ANALYSIS_QUEUE: 'my-batches',
  DLQ_NAME: 'my-dead-letters',
};

describe('queues of other names', () => {
  let rig: ProducerRig;
  let queues: QueueManager | undefined;
  const children: Child[] = [];

  beforeEach(async () => {
    rig = await ProducerRig.start();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL');
    await queues?.stop();
    await rig.stop();
  });

  const spawn = (app: string): void => {
    const OUTPUT_DIRECTORY = join(rig.folder.path, 'out');
    children.push(spawnApp(app, rig.env({ ...NAMES, OUTPUT_DIRECTORY })));
  };
  /** After a first run: before it the pipeline has no name. */
  const openQueues = async (): Promise<QueueManager> => {
    const redis = await pipelineRedis({ url: rig.redisUrl, prefix: rig.prefix }, rig.database.url);
    const made = new QueueManager({ ...redis, workerId: 'w', logger: silentLogger, metrics: new Metrics() });
    await made.start();
    return made;
  };
  const total = async (opened: QueueManager, name: string): Promise<number> =>
    Object.values<number>({ ...(await opened.getQueue(name).counts()) }).reduce(
      (sum, count) => sum + count,
      0,
    );

  it('carry a tree from the producer to the analyzer, and the dead letters of both', async () => {
    rig.plant(2, 5);
    expect((await rig.run(NAMES)).summary).toMatchObject({ enqueued: 10 });
    const opened = (queues = await openQueues());
    // Folders that are read together share a job.
    expect([1, 2]).toContain(await total(opened, 'my-files'));
    spawn('batcher');
    await eventually(async () =>
      expect(await rig.query("SELECT id FROM files WHERE status = 'batched'")).toHaveLength(10),
    );
    expect(await rig.query('SELECT DISTINCT queue FROM outbox')).toEqual([{ queue: 'my-batches' }]);
    spawn('outbox-publisher');
    await eventually(async () => expect(await total(opened, 'my-batches')).toBeGreaterThan(0));
    spawn('analyzer');
    await eventually(async () =>
      expect(await rig.query("SELECT id FROM files WHERE status = 'analyzed'")).toHaveLength(10),
    );
    for (const name of ['my-files', 'my-batches'])
      await opened.enqueueJobs(name, ANY_PAYLOAD, [{ payload: { no: 'contract' }, jobId: `bad-${name}` }]);
    await eventually(async () => expect(await total(opened, 'my-dead-letters')).toBe(2));
  }, 180_000);
});
