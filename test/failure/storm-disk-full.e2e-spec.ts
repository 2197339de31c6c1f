import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, tempFolder, type TempFolder, Random } from '#testing';
import { SMALL_FLEET } from './storm/fleet-plan.js';
import { SmallDisk, type MountedDisk } from './storm/small-disk.js';
import { StormSystem } from './storm/system.js';

const FILES = 60;

describe('an output folder on a full disk', () => {
  let folder: TempFolder;
  let output: MountedDisk;
  let system: StormSystem;

  beforeEach(async () => {
    folder = await tempFolder('output');
    output = await SmallDisk.mount(join(folder.path, 'disk'), 2);
    system = await StormSystem.start({ kind: 'sqlite', files: FILES, random: new Random(1), haste: 4 });
  });

  afterEach(async () => {
    await system.stop();
    if (output.state === 'mounted') await output.disk.unmount();
    await folder.remove();
  });

  const batchesIn = async (path: string): Promise<string[]> =>
    (await readdir(path)).filter((name) => name !== 'filler' && name !== 'manifest.json');

  it('holds batches back, shows no half of one, and gets them all when there is room again', async () => {
    // Without the right to mount there is no such disk to try; why, is told.
    if (output.state === 'refused') return expect(output.reason).not.toBe('');
    const { disk } = output;
    await disk.fill();
    system.startFleet(SMALL_FLEET, {
      analyzer: { env: { SINK: 'write', OUTPUT_DIRECTORY: disk.path, OUTPUT_FORMAT: 'jsonl' } },
    });
    await system.scanOnce();
    await eventually(() => expect(system.fleet.exitSummary()).toMatch(/ENOSPC|no space left/), {
      timeoutMs: 60_000,
    });
    expect((await system.books.proof()).counts.batchesOpen).toBeGreaterThan(0);
    // What is being written has another name until it is whole.
    expect((await batchesIn(disk.path)).filter((name) => !name.endsWith('.part'))).toEqual([]);
    await disk.free();
    await eventually(async () => expect((await system.books.proof()).verdict).toBe('proven'), {
      timeoutMs: 120_000,
      everyMs: 500,
    });
    const { counts } = await system.books.proof();
    expect(counts.files).toEqual({ analyzed: FILES });
    const names = await batchesIn(disk.path);
    expect(names).toHaveLength(counts.batches);
    for (const name of names) expect((await readFile(join(disk.path, name), 'utf8')).at(-1)).toBe('\n');
  }, 240_000);
});
