import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockUnavailableError } from '#locking';
import { tempFolder, type TempFolder } from '#testing';
import { ScanRig } from './scan.fixture.js';

describe('the task of a producer', () => {
  let folder: TempFolder;
  let rig: ScanRig;
  let root: string;

  beforeAll(async () => {
    rig = await ScanRig.start('sqlite');
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    folder = await tempFolder('task');
    root = join(folder.path, 'root');
    mkdirSync(root);
    writeFileSync(join(root, 'one'), 'one');
  });
  afterEach(() => {
    jest.restoreAllMocks();
    return folder.remove();
  });

  const run = (settings: Record<string, string> = {}, signal = new AbortController().signal) =>
    rig.task(root, settings).run(signal);

  /** Whether the next producer gets the lease at its first attempt. */
  const leaseIsFree = async (): Promise<boolean> => {
    const lease = await rig.locks.acquire(root);
    await lease?.release();
    return lease !== null;
  };

  /** Files can no longer be registered; ends with the call of what it gives. */
  const plantFailure = async (): Promise<() => Promise<unknown>> => {
    const change = (sql: string) => rig.database.inTransaction((tx) => tx.query(sql));
    await change("CREATE TRIGGER planted BEFORE INSERT ON files BEGIN SELECT RAISE(ABORT, 'planted'); END");
    return () => change('DROP TRIGGER planted');
  };

  it('has released the lease when the scan is complete', async () => {
    expect(await run()).toBe(0);
    expect(await leaseIsFree()).toBe(true);
  });

  it('has released the lease when the scan was refused', async () => {
    await run();
    rmSync(join(root, 'one'));
    expect(await run()).toBe(77);
    expect(await leaseIsFree()).toBe(true);
  });

  it('has released the lease when the database failed the scan, which it does not outlive', async () => {
    const drop = await plantFailure();
    await expect(run()).rejects.toThrow('planted');
    await drop();
    expect(await rig.outcomes(root)).toEqual(['failed']);
    expect(rig.lastSummary()).toMatchObject({
      failed: 1,
      fatalErrors: [expect.stringContaining('planted')],
    });
    expect(await rig.metrics.text()).toMatch(/^millrace_pool_failed_total\{pool="[^"]+"\} 1$/m);
    expect(await leaseIsFree()).toBe(true);
  });

  it('waits for the lease while the lock nodes do not answer', async () => {
    const acquire = rig.locks.acquire.bind(rig.locks);
    let asked = 0;
    jest.spyOn(rig.locks, 'acquire').mockImplementation((key, options) => {
      if (asked++ < 2) throw new LockUnavailableError(key, 0, 1);
      return acquire(key, options);
    });
    expect(await run()).toBe(0);
    expect(await rig.outcomes(root)).toEqual(['completed']);
    expect(asked).toBe(3);
  });

  it('ends well and scans nothing while another holds the lease', async () => {
    const other = await rig.locks.acquire(root);
    expect(await run()).toBe(0);
    expect(await rig.outcomes(root)).toEqual([]);
    await other?.release();
  });
});
