import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { get_encoding } from 'tiktoken';
import { FILE_JOB, QUEUE } from '#contracts';
import { execute } from '#database';
import { renderBatch } from '#envelope';
import { countTokens } from '#tokens';
import { DATABASE_KINDS, eventually, guardLeaks, PROJECT_ROOT } from '#testing';
import { enqueueFiles, fileJobOf, registerFiles, writeTree } from '../../apps/batcher/src/batcher.fixture.js';
import { BatcherRig, closeRigs, expectKept } from './batcher-rig.js';

const words = (count: number): string => 'word '.repeat(count);
const manyFiles = (
  count: number,
  content = (n: number): string => `file ${n}\n${words(20)}`,
): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n % 7}/f${n}.txt`, content(n)]));

describe('batcher', () => {
  closeRigs();
  guardLeaks();

  it.each(DATABASE_KINDS.flatMap((kind) => [1, 100].map((filesPerJob) => ({ kind, filesPerJob }))))(
    'reads, counts and batches files, and appends the event of the batch ($kind, $filesPerJob a job)',
    async ({ kind, filesPerJob }) => {
      const rig = await BatcherRig.open({ kind, filesPerJob });
      await rig.add({ 'a.txt': 'hello world', 'b/c.txt': 'second file' });
      rig.start();
      expect(await rig.settled()).toEqual({ batched: 2 });
      await expectKept(rig);
      const [event, ...others] = await rig.events();
      expect(others).toEqual([]);
      expect(event?.files.map(({ path, tokens }) => [path, tokens]).sort()).toEqual([
        [join(rig.folder, 'a.txt'), countTokens('hello world')],
        [join(rig.folder, 'b/c.txt'), countTokens('second file')],
      ]);
      await eventually(async () =>
        expect((await rig.queues.getQueue(rig.queue).counts()).completed).toBe(filesPerJob === 1 ? 2 : 1),
      );
    },
    120_000,
  );

  it('takes what senders of other versions left in the queue: a file alone, a list, fields it does not know', async () => {
    const rig = await BatcherRig.open({ filesPerJob: 1, env: { RECOVERY_INTERVAL_MS: '60000' } });
    const files = await registerFiles(rig.database, writeTree(rig.folder, manyFiles(9)));
    const parts = [files.slice(0, 3), files.slice(3, 6), files.slice(6)] as const;
    await enqueueFiles(rig.queues, rig.database, parts[0], 1);
    await enqueueFiles(rig.queues, rig.database, parts[1], 3);
    const jobs = parts[2].map(fileJobOf).map(({ jobId, payload }) => ({
      jobId,
      payload: { ...payload, ofLater: { version: 99 }, trace: '00-0-0-00' },
    }));
    await rig.queues.enqueueJobs(rig.queue, FILE_JOB, jobs);
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 9 });
    await eventually(async () => expect((await rig.queues.getQueue(rig.queue).counts()).completed).toBe(7));
    await expectKept(rig);
  }, 90_000);

  it('commits nothing when there is nothing, and starts with an empty batch', async () => {
    const rig = await BatcherRig.open({ env: { BATCH_QUIET_MS: '0', BATCH_LINGER_MS: '0' } });
    const app = rig.start();
    await app.log({ msg: 'batcher started' });
    expect(await app.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await rig.rows('SELECT id FROM batches')).toEqual([]);
  }, 60_000);

  it('skips what it cannot read, logs it, and goes on with the rest', async () => {
    const rig = await BatcherRig.open();
    await rig.add({ 'good.txt': 'good', 'zero.txt': '', 'data.bin': Buffer.from([0, 1, 2]) });
    symlinkSync('/etc/hostname', join(rig.folder, 'link'));
    await rig.addPaths([join(rig.folder, 'gone.txt'), join(rig.folder, 'link')]);
    const app = rig.start();
    expect(await rig.settled()).toEqual({ batched: 1, skipped: 4 });
    const reasons = await rig.rows<{ path: string; skip_reason: string }>(
      "SELECT path, skip_reason FROM files WHERE status = 'skipped'",
    );
    expect(
      Object.fromEntries(
        reasons.map(({ path, skip_reason }) => [path.slice(rig.folder.length + 1), skip_reason]),
      ),
    ).toEqual({
      'zero.txt': 'empty',
      'data.bin': 'binary',
      'gone.txt': 'vanished',
      link: 'not-a-file',
    });
    await app.log({
      msg: 'file skipped',
      reason: 'vanished',
      error: 'ENOENT',
      path: join(rig.folder, 'gone.txt'),
    });
    await expectKept(rig);
  }, 90_000);

  it.each(['best-fit', 'sequential'])(
    'closes batches at the token limit and commits the last, partly filled one (%s)',
    async (packing) => {
      const rig = await BatcherRig.open({ env: { PACKING: packing, MAX_BATCH_TOKENS: '2000' } });
      await rig.add(manyFiles(60, (n) => words(100 + n)));
      rig.start();
      expect(await rig.settled()).toEqual({ batched: 60 });
      await expectKept(rig);
      const batches = await rig.rows<{ total_tokens: number }>('SELECT total_tokens FROM batches');
      // 60 files of 130 tokens and a heading each do not fit fewer.
      expect(batches.length).toBeGreaterThanOrEqual(5);
      for (const { total_tokens } of batches) expect(total_tokens).toBeLessThanOrEqual(2_000);
    },
    90_000,
  );

  it('commits batches that fit the limit as written, counted by tiktoken', async () => {
    const maxTokens = 8_000;
    const rig = await BatcherRig.open({ env: { MAX_BATCH_TOKENS: String(maxTokens) } });
    const sources = [
      'libs/tokens/src/scanner.ts',
      'libs/service/src/bootstrap.ts',
      'package-lock.json',
      'eslint.config.mjs',
    ];
    await rig.addPaths(sources.map((path) => join(PROJECT_ROOT, path)));
    rig.start();
    expect(await rig.settled()).toEqual({ batched: sources.length });
    await expectKept(rig);
    const tiktoken = get_encoding('o200k_base');
    for (const { id, totalTokens, files } of (await rig.events()).slice(0, 25)) {
      const loaded = files.map((file) => ({
        file,
        path: file.path,
        bytes: readFileSync(file.path).subarray(file.start, file.end),
      }));
      const written = Buffer.concat(renderBatch('markdown', id, totalTokens, loaded)).toString();
      const counted = tiktoken.encode_ordinary(written).length;
      expect(counted).toBeLessThanOrEqual(totalTokens);
      expect(counted).toBeLessThanOrEqual(maxTokens);
    }
    tiktoken.free();
  }, 120_000);

  it('batches each file once when every job is delivered five times to three batchers', async () => {
    const rig = await BatcherRig.open({ filesPerJob: 1 });
    const files = await rig.add(manyFiles(150));
    const copies = files.flatMap(({ id, revision, path, size }) =>
      [1, 2, 3, 4].map((copy) => ({
        jobId: `f-${id}-${revision}-copy${copy}`,
        payload: { filePath: path, fileSize: size, fileId: id, revision },
      })),
    );
    await rig.queues.enqueueJobs(rig.queue, FILE_JOB, copies.reverse());
    for (let n = 0; n < 3; n++) rig.start();
    expect(await rig.settled()).toEqual({ batched: 150 });
    await eventually(
      async () => expect((await rig.queues.getQueue(rig.queue).counts()).completed).toBe(750),
      {
        timeoutMs: 60_000,
      },
    );
    await expectKept(rig);
  }, 150_000);

  it('does nothing about a list whose files are settled when it comes again', async () => {
    const rig = await BatcherRig.open({ filesPerJob: 30 });
    const [file] = await rig.add(manyFiles(30));
    const jobId = await rig.jobOf(file!);
    const queue = rig.queues.getQueue(rig.queue);
    const payload = FILE_JOB.parse((await queue.getJob(jobId))?.data);
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 30 });
    await eventually(async () => expect((await queue.counts()).completed).toBe(1));
    const before = await rig.rows('SELECT * FROM files ORDER BY id');
    await queue.remove(jobId);
    await queue.enqueue(FILE_JOB, [{ jobId, payload }]);
    await eventually(async () => expect((await queue.counts()).completed).toBe(1));
    expect(await rig.rows('SELECT * FROM files ORDER BY id')).toEqual(before);
    await expectKept(rig);
  }, 90_000);

  it('batches only the newest revision of a file that is registered anew while its job waits', async () => {
    const rig = await BatcherRig.open();
    const [file] = await rig.add({ 'a.txt': 'new content' });
    await rig.database.inTransaction((tx) => execute(tx, 'UPDATE files SET revision = 2, enqueued_at = 0'));
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 1 });
    expect(await rig.rows('SELECT file_id, revision FROM batch_items')).toEqual([
      { file_id: file?.id, revision: 2 },
    ]);
  }, 90_000);

  it('records a file as failed and dead-letters its job when reading it fails to the last', async () => {
    const rig = await BatcherRig.open({ env: { JOB_ATTEMPTS: '2' } });
    const bad = join(rig.folder, 'x'.repeat(300));
    await rig.addPaths([bad]);
    // The batcher enqueues it again, with as many attempts as it was told.
    await rig.queues.getQueue(rig.queue).obliterate({ force: true });
    await rig.add({ 'good.txt': 'good' });
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 1, failed: 1 });
    const letters = rig.queues.getQueue(QUEUE.deadLetter);
    const [letter] = await eventually(async () => {
      const jobs = await letters.getJobs(['wait']);
      expect(jobs).toHaveLength(1);
      return jobs;
    });
    expect(letter?.data).toMatchObject({
      queue: rig.queue,
      errorName: 'FileUnreadError',
      reason: 'error',
      attemptsMade: 2,
    });
    expect(await rig.rows("SELECT error_status FROM files WHERE status = 'failed'")).toEqual([
      { error_status: expect.stringContaining('ENAMETOOLONG') },
    ]);
  }, 120_000);

  it('sends one file of a content when duplicates are skipped', async () => {
    const rig = await BatcherRig.open({ env: { SKIP_DUPLICATES: 'true' } });
    await rig.add(manyFiles(30, (n) => `content ${n % 3}`));
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 3, skipped: 27 });
    expect(
      await rig.rows(`SELECT count(*) AS n FROM files d JOIN files o ON o.id = d.duplicate_of AND o.hash_value IS NOT NULL
        WHERE d.skip_reason = 'duplicate' AND o.status = 'batched'`),
    ).toEqual([{ n: 27 }]);
    await expectKept(rig);
  }, 90_000);
});
