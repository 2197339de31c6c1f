import { randomBytes } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventually, guardLeaks } from '#testing';
import { BatcherRig, closeRigs, expectKept } from './batcher-rig.js';

const MB = 1_048_576;
const letters = (bytes: number): string =>
  randomBytes(bytes)
    .toString('latin1')
    .replace(/[^a-z]/g, (c) => String.fromCharCode(97 + (c.charCodeAt(0) % 26)));

describe('batcher on files that are hard to count', () => {
  closeRigs();
  guardLeaks();

  it('batches them all without losing a job lock or stalling a job', async () => {
    const rig = await BatcherRig.open({ env: { BATCHER_THREADS: '2' }, filesPerJob: 1 });
    await rig.add({
      'one-letter': 'a'.repeat(10 * MB),
      'random-letters': letters(10 * MB),
      cjk: '汉字没有空格的长文本'.repeat((10 * MB) / 30),
      base64: randomBytes(7.5 * MB).toString('base64'),
      'special-token': 'before <|endoftext|> after '.repeat(1_000),
      'one-line': 'lorem ipsum dolor sit amet, '.repeat((5 * MB) / 28),
      'two-gigabytes': '',
      ordinary: 'an ordinary file among them',
    });
    truncateSync(join(rig.folder, 'two-gigabytes'), 2 ** 31);
    const app = rig.start();
    expect(await rig.settled(240_000)).toEqual({ batched: 7, skipped: 1 });
    expect(await rig.rows("SELECT skip_reason FROM files WHERE status = 'skipped'")).toEqual([
      { skip_reason: 'too-large' },
    ]);
    await expectKept(rig);
    // A job ends a moment after the commit that settled its file.
    await eventually(async () => {
      const jobs = await rig.queues.getQueue(rig.queue).getJobs(['completed']);
      expect(jobs.map((job) => [job.attemptsStarted, job.stalledCounter])).toEqual(
        Array.from({ length: 8 }, () => [1, 0]),
      );
    });
    // Half the lock's time is when renewal is due; the loop was never blocked for anything like it.
    const { port } = await app.log({ msg: 'batcher listening' });
    const metrics = await (await fetch(`http://127.0.0.1:${port as number}/metrics`)).text();
    const lag = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(metrics)?.[1]);
    expect(lag).toBeLessThan(2);
  }, 300_000);
});
