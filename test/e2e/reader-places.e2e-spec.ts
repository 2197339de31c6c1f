import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FILE_JOB, filesOf, QUEUE, type FileJob } from '#contracts';
import { eventually } from '#testing';
import { jobsOf } from '../../apps/batcher/src/batcher.fixture.js';
import { BatcherRig, closeRigs } from './batcher-rig.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a batcher told by its jobs where to look', () => {
  closeRigs();

  /** The root is a folder of its own, so that there is an outside. */
  const rigWithRoot = async (filesPerJob = 7): Promise<{ rig: BatcherRig; root: string; secret: string }> => {
    const rig = await BatcherRig.open({ filesPerJob });
    const root = join(rig.folder, 'root');
    mkdirSync(root);
    const secret = join(rig.folder, 'secret');
    writeFileSync(secret, 'SECRET');
    return { rig, root, secret };
  };
  const confine = (rig: BatcherRig, root: string): Promise<unknown> =>
    rig.database.inTransaction((tx) => tx.query(`UPDATE roots SET path = '${root}', path_key = '${root}'`));
  const contents = async (rig: BatcherRig): Promise<string[]> =>
    (await rig.rows<{ content_hash: string }>('SELECT content_hash FROM batch_items')).map(
      ({ content_hash }) => content_hash,
    );

  it.each([1, 7])(
    'reads the path of the row, whatever a job in Redis says (%d files a job)',
    async (filesPerJob) => {
      const { rig, root, secret } = await rigWithRoot(filesPerJob);
      const [file] = await rig.add({ 'root/a': 'of the tree' });
      await confine(rig, root);
      const job = await rig.queues.getQueue(QUEUE.filesToBatch).getJob(await rig.jobOf(file!));
      const [told] = filesOf(job!.data as FileJob);
      const lie = { ...told, filePath: secret, pathBytes: Buffer.from(secret).toString('base64') };
      await job!.updateData(filesPerJob === 1 ? lie : { files: [lie] });
      rig.start();
      expect(await rig.settled()).toEqual({ batched: 1 });
      expect(await contents(rig)).toEqual([sha256('of the tree')]);
      expect((await rig.events()).flatMap(({ files }) => files.map(({ path }) => path))).toEqual([
        join(root, 'a'),
      ]);
    },
  );

  it('leaves alone what a list names and whose row names another job', async () => {
    const { rig, root } = await rigWithRoot();
    const files = await rig.add({ 'root/a': 'one', 'root/b': 'two' });
    await confine(rig, root);
    const [payload] = jobsOf(files, 7).map((job) => job.payload);
    await rig.queues.getQueue(QUEUE.filesToBatch).obliterate({ force: true });
    await rig.queues.enqueueJob(QUEUE.filesToBatch, FILE_JOB, payload!, { jobId: 'g-forged' });
    const batcher = rig.start({ RECOVERY_INTERVAL_MS: '3600000', RECOVERY_AGE_MS: '3600000' });
    const { port } = await batcher.log({ msg: 'batcher listening' });
    await eventually(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port as number}/metrics`)).text();
      expect(metrics).toMatch(/millrace_files_settled_total\{outcome="obsolete",reason=""\} 2/);
    });
  });

  it('carries out jobs of one file each that a build of before lists has left in the queue', async () => {
    const { rig, root } = await rigWithRoot();
    const files = await rig.add({ 'root/a': 'one', 'root/b': 'two', 'root/c': 'three' });
    await confine(rig, root);
    await rig.queues.getQueue(QUEUE.filesToBatch).obliterate({ force: true });
    await rig.database.inTransaction((tx) => tx.query('UPDATE files SET job_id = NULL'));
    for (const { id, path } of files)
      await rig.queues.enqueueJob(
        QUEUE.filesToBatch,
        FILE_JOB,
        { filePath: path, fileSize: 3, fileId: id, revision: 1 },
        { jobId: `f-${id}-1` },
      );
    rig.start({ RECOVERY_INTERVAL_MS: '3600000', RECOVERY_AGE_MS: '3600000' });
    expect(await rig.settled()).toEqual({ batched: 3 });
    expect((await contents(rig)).sort()).toEqual(['one', 'two', 'three'].map(sha256).sort());
  });

  it('ends a job whose row is in another revision, and counts it', async () => {
    const { rig, root } = await rigWithRoot();
    const [file] = await rig.add({ 'root/a': 'one', 'root/b': 'two' });
    await confine(rig, root);
    await rig.database.inTransaction((tx) =>
      tx.query(`UPDATE files SET revision = 7, status = 'analyzed' WHERE id = ${file!.id}`),
    );
    const payload = { filePath: file!.path, fileSize: 3, fileId: 999_999, revision: 1 };
    await rig.queues.enqueueJob(QUEUE.filesToBatch, FILE_JOB, payload, { jobId: 'f-999999-1' });
    const batcher = rig.start();
    expect(await rig.settled()).toEqual({ analyzed: 1, batched: 1 });
    expect(await contents(rig)).toEqual([sha256('two')]);
    await eventually(async () =>
      expect(await rig.queues.getQueue(QUEUE.filesToBatch).counts()).toMatchObject({
        waiting: 0,
        active: 0,
        failed: 0,
      }),
    );
    const { port } = await batcher.log({ msg: 'batcher listening' });
    const metrics = await (await fetch(`http://127.0.0.1:${port as number}/metrics`)).text();
    expect(metrics).toMatch(/millrace_files_settled_total\{outcome="obsolete",reason=""\} 2/);
  });
});
