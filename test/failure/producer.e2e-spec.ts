import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Random, startRedis, testSeed, type RedisServer } from '#testing';
import { ProducerRig, summaryOf } from '../e2e/producer.fixture.js';

const full = process.env.MILLRACE_TORTURE === 'full';
const KILLS = full ? 30 : 4;
const FOLDERS = full ? 2_500 : 250;
const EACH = 20;

/** What an undisturbed scan of the same tree leaves. */
async function undisturbed(rig: ProducerRig): Promise<Awaited<ReturnType<ProducerRig['tables']>>> {
  const other = await ProducerRig.start();
  try {
    const { code, child } = await other.run({ TARGET_DIRECTORY: rig.root });
    expect({ code, said: code === 0 ? '' : `${child.stderr}${child.stdout}`.slice(-3_000) }).toEqual({
      code: 0,
      said: '',
    });
    return await other.tables();
  } finally {
    await other.stop();
  }
}

/** Every file has one job, and no file has two. */
async function expectOneJobAFile(rig: ProducerRig, files: number): Promise<void> {
  const jobs = await rig.jobs();
  expect(jobs).toHaveLength(files);
  expect(new Set(jobs.map(({ path }) => path)).size).toBe(files);
}

describe('a producer that is killed', () => {
  let rig: ProducerRig;
  beforeEach(async () => {
    rig = await ProducerRig.start();
  });
  afterEach(() => rig.stop());

  it('at every step boundary, one after the other, is healed by the next run', async () => {
    rig.plant(60, 10);
    for (const point of [
      'producer.before-scan-row:1',
      'producer.mid-walk:20',
      'producer.after-register:1',
      'producer.mid-enqueue:1',
      'producer.after-enqueue:1',
      'producer.before-finish:1',
    ]) {
      const { child } = await rig.run({ MILLRACE_FAULT: `${point}:kill` });
      expect({ point, ...(await child.exited) }).toEqual({ point, code: null, signal: 'SIGKILL' });
    }
    const { code, summary } = await rig.run();
    expect(code).toBe(0);
    expect(summary).toMatchObject({ outcome: 'completed', files: 600 });
    expect(await rig.query('SELECT id FROM files WHERE enqueued_at = 0 OR revision <> 1')).toEqual([]);
    await expectOneJobAFile(rig, 600);
  }, 240_000);

  it(
    `at ${KILLS} random moments leaves the tables of an undisturbed scan`,
    async () => {
      rig.plant(FOLDERS, EACH);
      const seed = testSeed();
      const random = new Random(seed);
      let kills = 0;
      // A finished scan is followed by a rescan, which is killed like the first.
      for (let attempt = 0; kills < KILLS && attempt < KILLS * 5; attempt++) {
        await rig.leaseOver();
        const child = rig.spawn();
        await child.output(/scan \d+ (begins|continues)/);
        // More often early: a scan may take less than the longest.
        await new Promise((resolve) => setTimeout(resolve, random.next() ** 2 * 400));
        child.signal('SIGKILL');
        const { signal } = await child.exited;
        if (signal === 'SIGKILL' && /scan \d+ (begins|continues)/.test(child.stdout)) kills++;
      }
      expect({ seed, enough: full ? kills === KILLS : kills > 0 }).toEqual({ seed, enough: true });
      const last = await rig.run();
      expect(last.code).toBe(0);
      const { files, folders } = await rig.tables();
      const expected = await undisturbed(rig);
      expect(files).toEqual(expected.files);
      expect(folders).toEqual(expected.folders);
      await expectOneJobAFile(rig, FOLDERS * EACH);
    },
    full ? 1_800_000 : 300_000,
  );

  it('by SIGTERM in the middle exits 0 in time, and the next run continues the same scan', async () => {
    rig.plant(300, 5);
    const first = rig.spawn({ WORKERS: '1' });
    await first.output('scan 1 begins');
    // Past SHUTDOWN_TIMEOUT_MS, 5 seconds, the code would be 75.
    expect(await first.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const interrupted = summaryOf(first);
    const { code, summary } = await rig.run();
    expect(code).toBe(0);
    expect(summary).toMatchObject({ outcome: 'completed', files: 1500 });
    if (interrupted?.outcome === 'interrupted')
      expect(summary).toMatchObject({ resumed: true, scanId: interrupted.scanId });
    await expectOneJobAFile(rig, 1500);
  }, 180_000);
});

describe('a producer without Redis', () => {
  let redis: RedisServer;
  let rig: ProducerRig;
  beforeAll(async () => {
    redis = await startRedis();
    rig = await ProducerRig.start(redis.url);
  });
  afterAll(async () => {
    await rig.stop();
    await redis.stop();
  });

  it('stops when its lease runs out, registers nothing after it, and a later run enqueues everything', async () => {
    rig.plant(100, 5);
    const child = rig.spawn({ MILLRACE_FAULT: 'producer.mid-enqueue:1:hang' });
    await child.output('scan 1 begins');
    redis.pause();
    const { code } = await child.exited;
    redis.resume();
    expect(code).not.toBe(0);
    expect(child.stdout).toContain('lease lost');
    await redis.flush();
    const { summary } = await rig.run();
    expect(summary).toMatchObject({ outcome: 'completed', files: 500 });
    expect(await rig.query('SELECT id FROM files WHERE enqueued_at = 0')).toEqual([]);
  }, 180_000);
});
