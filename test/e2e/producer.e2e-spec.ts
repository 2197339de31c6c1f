import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, guardLeaks, PROJECT_ROOT, spawnApp, spawnProgram, type Child } from '#testing';
import { ProducerRig, summaryOf } from './producer.fixture.js';

const NOBODY = 65_534;

describe('producer, run after run on one tree,', () => {
  guardLeaks();
  let rig: ProducerRig;
  beforeAll(async () => {
    rig = await ProducerRig.start();
    rig.plant(20, 5);
  });
  afterAll(() => rig.stop());

  it('scans to completion, says what it did and exits 0; again, it finds nothing to do', async () => {
    const first = await rig.run();
    expect(first.code).toBe(0);
    expect(first.summary).toMatchObject({ outcome: 'completed', files: 100, created: 100, enqueued: 100 });
    expect(new Set((await rig.jobs()).map(({ path }) => path)).size).toBe(100);
    const second = await rig.run();
    expect(second.summary).toMatchObject({ created: 0, enqueued: 0, files: 100 });
    expect(await rig.jobs()).toHaveLength(100);
  }, 120_000);

  it('records folders that it may not read, reads all others, and removes nothing for it', async () => {
    chmodSync(join(rig.root, 'g1'), 0);
    chmodSync(join(rig.root, 'g2', 'd2'), 0);
    try {
      const child = spawnAsNobody(rig);
      expect(await child.exited).toEqual({ code: 0, signal: null });
      expect(summaryOf(child)).toMatchObject({ outcome: 'completed', errorCodes: { EACCES: 2 } });
    } finally {
      chmodSync(join(rig.root, 'g1'), 0o755);
      chmodSync(join(rig.root, 'g2', 'd2'), 0o755);
    }
    const rows = await rig.query<{ path: string; error_status: string }>(
      'SELECT path, error_status FROM folders WHERE error_status IS NOT NULL ORDER BY path',
    );
    expect(rows).toEqual([
      { path: join(rig.root, 'g1'), error_status: 'EACCES' },
      { path: join(rig.root, 'g2', 'd2'), error_status: 'EACCES' },
    ]);
    expect(await rig.query('SELECT id FROM files WHERE removed = 1')).toEqual([]);
    const healed = await rig.run();
    expect(healed.summary).toMatchObject({ outcome: 'completed', errors: 0, files: 100 });
    expect(await rig.query('SELECT id FROM folders WHERE error_status IS NOT NULL')).toEqual([]);
  }, 180_000);

  it('exits 77 when most of the tree is gone, and marks nothing removed', async () => {
    for (let index = 0; index < 8; index++) rmSync(join(rig.root, `g${index}`), { recursive: true });
    const { code, child } = await rig.run();
    expect(code).toBe(77);
    expect(child.stdout).toContain('ALLOW_MASS_REMOVAL');
    expect(await rig.query('SELECT id FROM files WHERE removed = 1')).toEqual([]);
  }, 120_000);
});

describe('producer', () => {
  guardLeaks();
  let rig: ProducerRig;
  beforeEach(async () => {
    rig = await ProducerRig.start();
  });
  afterEach(() => rig.stop());

  it('leaves its own database out of the tree that it scans', async () => {
    rig.plant(1, 1);
    mkdirSync(join(rig.root, 'data'));
    const url = `sqlite:${join(rig.root, 'data', 'm.db')}`;
    const child = rig.spawn({ DATABASE_URL: url });
    await child.exited;
    expect(summaryOf(child)).toMatchObject({ files: 1 });
  }, 120_000);

  it('says in one line that another is scanning the root, and exits 0', async () => {
    rig.plant(20, 2);
    const holder = rig.spawn({
      MILLRACE_FAULT: 'producer.mid-walk:1:hang',
      SHUTDOWN_TIMEOUT_MS: '500',
    });
    await holder.output('lock acquired');
    const second = rig.spawn();
    expect(await second.exited).toEqual({ code: 0, signal: null });
    expect(second.stdout).toContain(
      `could not acquire lock for ${rig.root}: another producer is scanning it`,
    );
    expect(summaryOf(second)).toBeUndefined();
    expect(await holder.end('SIGTERM')).toMatchObject({ code: 75 });
  }, 120_000);

  it('refuses a directory that is not there, or is none, with exit code 66 and no trace', async () => {
    writeFileSync(join(rig.folder.path, 'file'), '');
    for (const target of [join(rig.folder.path, 'none'), join(rig.folder.path, 'file')]) {
      const child = rig.spawn({ TARGET_DIRECTORY: target });
      expect(await child.exited).toEqual({ code: 66, signal: null });
      expect(child.stdout).toContain('nothing was changed');
    }
    expect(await rig.query('SELECT id FROM roots')).toEqual([]);
  }, 120_000);

  it.each<[string, (port: number) => NodeJS.ProcessEnv]>([
    ['Redis', (port) => ({ REDIS_URL: `redis://127.0.0.1:${port}` })],
    ['the database', (port) => ({ DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d` })],
  ])(
    'waits for %s with a clear line, then exits 69 with nothing changed',
    async (_, settings) => {
      const child = rig.spawn({ ...settings(await freePort()), STARTUP_TIMEOUT_MS: '1100' });
      expect(await child.exited).toEqual({ code: 69, signal: null });
      expect(child.stdout).toMatch(/waiting for (queues|database)/);
      expect(await rig.query('SELECT id FROM scans')).toEqual([]);
    },
    120_000,
  );

  it('names every fault of its configuration and exits 78', async () => {
    const child = spawnApp('producer', { SCAN_MODE: 'some', HASH_ALGORITHM: 'md5' });
    expect(await child.exited).toEqual({ code: 78, signal: null });
    for (const key of ['TARGET_DIRECTORY', 'SCAN_MODE', 'HASH_ALGORITHM'])
      expect(child.stderr).toContain(key);
  }, 60_000);
});

/** The same producer as a user who may not read everything; root may. */
function spawnAsNobody(rig: ProducerRig): Child {
  const data = dirname(rig.database.url.replace('sqlite:', ''));
  for (const path of [data, rig.folder.path]) chmodSync(path, 0o777);
  if (process.getuid?.() === 0)
    for (const suffix of ['', '-wal', '-shm']) {
      try {
        chownSync(`${data}/millrace.db${suffix}`, NOBODY, NOBODY);
      } catch {
        // Not every suffix exists.
      }
    }
  const uid = process.getuid?.() === 0 ? NOBODY : undefined;
  return spawnProgram(process.execPath, [join(PROJECT_ROOT, 'dist/apps/producer/src/main.js')], {
    env: rig.env({ PORT: '0' }),
    ...(uid !== undefined && { uid, gid: NOBODY }),
  });
}
