import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ProducerRig } from './producer.fixture.js';

/** Loaded before everything in the producer and its threads: opening `path` fails with `code`, `times` times a thread. */
function preload(code: string, path: string, times: number): string {
  return `
    const fs = require('node:fs');
    const real = fs.openSync;
    let left = ${times};
    fs.openSync = (path, ...how) => {
      if (String(path) === ${JSON.stringify(path)} && left-- > 0)
        throw Object.assign(new Error(${JSON.stringify(code)}), { code: ${JSON.stringify(code)}, syscall: 'open' });
      return real(path, ...how);
    };
    require('node:module').syncBuiltinESMExports();
  `;
}

describe('a producer whose file system fails', () => {
  let rig: ProducerRig;
  let hurt: string;

  beforeEach(async () => {
    rig = await ProducerRig.start();
    rig.plant(6, 5);
    hurt = join(rig.root, 'g1');
    expect((await rig.run()).summary).toMatchObject({ outcome: 'completed', files: 30 });
    // Something to list again in every folder on the way.
    writeFileSync(join(hurt, 'd1', 'new.txt'), 'new');
  });
  afterEach(() => rig.stop());

  const scanWith = (
    code: string,
    times: number,
    settings: NodeJS.ProcessEnv = {},
  ): ReturnType<ProducerRig['run']> => {
    const file = join(rig.folder.path, 'fault.cjs');
    writeFileSync(file, preload(code, hurt, times));
    // It ends in order, however long that takes on a busy machine.
    const lease = { LOCK_LEASE_MILLISECONDS: '30000' };
    return rig.run({ NODE_OPTIONS: `--require ${file}`, ...lease, ...settings });
  };
  const removed = (): Promise<object[]> => rig.query('SELECT path FROM files WHERE removed = 1');
  const errors = (): Promise<object[]> =>
    rig.query('SELECT path, error_status FROM folders WHERE error_status IS NOT NULL');

  it('with EIO in a folder records it there, removes nothing below it, and a later run heals it', async () => {
    const { code, summary } = await scanWith('EIO', 1_000);
    expect({ code, ...summary }).toMatchObject({ code: 0, outcome: 'completed', errorCodes: { EIO: 1 } });
    expect(await errors()).toEqual([{ path: hurt, error_status: 'EIO' }]);
    expect(await removed()).toEqual([]);
    expect((await rig.run()).summary).toMatchObject({ outcome: 'completed', files: 31, created: 1 });
    expect(await errors()).toEqual([]);
  }, 120_000);

  it('with EMFILE for a moment tries again and loses nothing', async () => {
    const { code, summary } = await scanWith('EMFILE', 3);
    expect({ code, ...summary }).toMatchObject({ code: 0, outcome: 'completed', files: 31, errors: 0 });
    expect(await errors()).toEqual([]);
    expect(await removed()).toEqual([]);
  }, 120_000);

  it.each([
    ['0', 'failed'],
    // One folder failed, and no other with it.
    ['1', 'interrupted'],
  ])(
    'with EMFILE that lasts and %s failures allowed ends as %s, and the next run continues it',
    async (allowed, outcome) => {
      const { code, summary } = await scanWith('EMFILE', 1_000, { ERROR_THRESHOLD: allowed });
      expect({ outcome: summary?.outcome, ok: code === 0 }).toEqual({ outcome, ok: outcome !== 'failed' });
      expect(await errors()).toEqual([]);
      expect(await removed()).toEqual([]);
      const next = await rig.run();
      expect(next.summary).toMatchObject({
        outcome: 'completed',
        files: 31,
        resumed: true,
        scanId: summary?.scanId,
      });
    },
    120_000,
  );
});
