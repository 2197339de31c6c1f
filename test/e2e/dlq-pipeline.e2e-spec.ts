import { beforeAll, describe, expect, it } from '@jest/globals';
import type { PipelineView } from '#dlq-client';
import { ANY_PAYLOAD, done, retryAfter } from '#queue-manager';
import { eventually, tempFolder } from '#testing';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';
import { seedBatch } from './seeded-batch.js';

/** Server-sent events, as a browser would read them. */
async function* eventsOf(reply: Response): AsyncGenerator<PipelineView> {
  let text = '';
  for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^event: pipeline\ndata: (.*)$/.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data) yield JSON.parse(data) as PipelineView;
    }
  }
}

describe('the pipeline as dlq-admin shows it', () => {
  let admin: TestDlqAdmin;
  const listen = (key: string, signal?: AbortSignal): Promise<Response> =>
    fetch(`${admin.url}/api/v1/pipeline/stream`, { headers: { authorization: key }, signal });

  beforeAll(async () => {
    admin = await startDlqAdmin();
  }, 60_000);

  it('is one answer for all of it, and names the process that gives it', async () => {
    const view = await admin.client.pipeline();
    expect(view).toMatchObject({
      letters: { open: 0 },
      files: { pending: 0 },
      queues: [
        { queue: 'files-to-batch-queue', paused: false },
        { queue: 'file-analysis-queue' },
        { queue: 'dead-letter-queue' },
      ],
    });
    expect(view.throughput).toHaveLength(60);
    await eventually(async () =>
      expect((await admin.client.pipeline()).workers).toEqual([
        expect.objectContaining({ app: 'dlq-admin', state: 'alive' }),
      ]),
    );
  });

  it('is told as it changes, to each key what it may see', async () => {
    const scoped = await admin.withKey({ role: 'viewer', queues: ['q-b'] });
    const stop = new AbortController();
    const all = eventsOf(await listen(admin.authorization, stop.signal));
    const some = eventsOf(await listen(`Bearer ${scoped.key}`, stop.signal));
    expect((await all.next()).value).toMatchObject({ letters: { open: 0 } });
    expect((await some.next()).value).toMatchObject({ letters: { open: 0 }, queues: [] });
    await admin.send([
      deadLetter({ queue: 'q-a' }),
      deadLetter({ queue: 'q-a' }),
      deadLetter({ queue: 'q-b' }),
    ]);
    const until = async (events: AsyncGenerator<PipelineView>, open: number): Promise<number> => {
      for await (const { letters } of events) if (letters.open >= open) return letters.open;
      return -1;
    };
    expect(await until(all, 3)).toBe(3);
    expect(await until(some, 1)).toBe(1);
    stop.abort();
  }, 60_000);

  it('tells the story of a file and of a batch to operators who may see both queues', async () => {
    const folder = await tempFolder('story');
    const { id, files } = await seedBatch(admin.database, folder.path, { 'a.txt': 'one', 'b.txt': 'two' });
    const [first] = files;
    expect(await admin.client.batch(id)).toMatchObject({
      itemCount: 2,
      items: [{ fileId: first?.fileId }, {}],
    });
    const file = await admin.client.file(first?.fileId ?? 0);
    expect(file).toMatchObject({ status: 'batched', items: [{ batchId: id, outcome: null }] });
    expect(await admin.client.file(file.id)).toEqual(file);
    const scoped = await admin.withKey({ role: 'operator', queues: ['file-analysis-queue'] });
    for (const asked of [scoped.client.batch(id), admin.client.file(999_999), admin.client.fileAt('/none')])
      await expect(asked).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await folder.remove();
  });

  it('has queues that are paused and resumed, and delayed jobs that are made due now, all of it audited', async () => {
    const queue = 'file-analysis-queue';
    const { client } = admin;
    expect(await client.setPaused(queue, true, 'the analyser is upgraded')).toMatchObject({
      queue,
      paused: true,
    });
    let runs = 0;
    const worker = admin.queues.createWorker(queue, ANY_PAYLOAD, async () => {
      runs++;
      if (runs === 1) throw new Error('not yet');
      return runs === 2 ? retryAfter(3_600_000) : done;
    });
    await worker.start();
    await admin.queues.enqueueJobs(queue, ANY_PAYLOAD, [{ jobId: 'e-one', payload: {}, attempts: 5 }]);
    const shown = async (): Promise<object | undefined> =>
      (await client.queues()).items.find((one) => one.queue === queue);
    expect(await shown()).toMatchObject({ waiting: 1, active: 0, paused: true });
    expect(runs).toBe(0);
    expect(await client.setPaused(queue, false)).toMatchObject({ paused: false });
    await eventually(async () => {
      const [job] = (await client.delayed(queue)).items;
      expect(job).toMatchObject({ id: 'e-one', lastError: 'not yet' });
      // The second time it is put off for an hour.
      expect(job?.nextAttemptAt).toBeGreaterThan(Date.now() + 1_800_000);
    });
    expect(await client.promote(queue, 'e-one')).toEqual({ job: 'e-one', promoted: true });
    await eventually(async () => expect(await shown()).toMatchObject({ waiting: 0, active: 0, delayed: 0 }));
    expect(runs).toBe(3);
    await worker.stop();
    for (const refused of [
      client.promote(queue, 'e-one'),
      client.setPaused('no-queue', true),
      client.delayed('no-queue'),
    ])
      await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const scoped = await admin.withKey({ role: 'operator', queues: ['q-b'] });
    await expect(scoped.client.setPaused(queue, true)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const { items } = await client.audit({ target: `queue:${queue}` });
    expect(
      items
        .filter(({ result }) => result === 'ok')
        .map(({ action, reason }) => [action, reason])
        .reverse(),
    ).toEqual([
      ['queue.pause', 'the analyser is upgraded'],
      ['queue.resume', null],
      ['job.promote', null],
    ]);
  }, 60_000);

  it('has so many listeners at most, and parts with them when it stops', async () => {
    const replies = await Promise.all(Array.from({ length: 105 }, () => listen(admin.authorization)));
    const refused = replies.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(await refused[0]?.json()).toMatchObject({ code: 'TOO_MANY_STREAMS' });
    const open = replies.flatMap(({ status, body }) => (status === 200 && body ? [body.getReader()] : []));
    const first = await Promise.all(open.map((reader) => reader.read()));
    const texts = first.map(({ value }) => new TextDecoder().decode(value as Uint8Array));
    expect(texts.filter((text) => !text.startsWith('event: pipeline'))).toEqual([]);
    await admin.stop();
    for (const reader of open) while (!(await reader.read()).done);
  }, 60_000);
});
