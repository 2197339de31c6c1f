import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { fileStat } from '#files';
import { DATABASE_KINDS, eventually, tempFolder, type TempFolder } from '#testing';
import { fileEntry, type FileEntry } from '#tree';
import { ScanRig, type FileRow } from '../scan.fixture.js';
import { FileRows } from './files.repository.js';
import { FolderRows } from './folders.repository.js';
import { registerBatch } from './register-batch.js';
import { noScanCounters } from './scan-counters.js';

describe.each(DATABASE_KINDS)('a listing that is registered late, on %s', (kind) => {
  let folder: TempFolder;
  let rig: ScanRig;
  let path: string;
  let listed: FileEntry;

  beforeAll(async () => {
    rig = await ScanRig.start(kind);
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    folder = await tempFolder('late');
    path = join(folder.path, 'file');
    writeFileSync(path, 'first');
    await rig.scan(folder.path);
    listed = seen();
    await rewrite();
  });
  afterEach(() => folder.remove());

  const seen = (): FileEntry => fileEntry(path, fileStat(statSync(path, { bigint: true })), null);
  /** Until it shows in the time of the file, which has the grain of the kernel's clock. */
  const rewrite = (): Promise<unknown> =>
    eventually(() => {
      writeFileSync(path, 'second, and longer');
      return seen().ctimeNs !== listed.ctimeNs;
    });
  const recordRead = ({ size, mtimeNs, ctimeNs, inode }: FileEntry): Promise<void> =>
    rig.execute(
      `UPDATE files SET status = 'batched', size = $2, mtime_ns = $3, ctime_ns = $4, inode = $5 WHERE path = $1`,
      [path, size, mtimeNs, ctimeNs, inode],
    );
  const row = async (): Promise<FileRow | undefined> => (await rig.files(folder.path)).get('file');
  const register = async (): Promise<void> => {
    const known = (await rig.folders(folder.path)).get('') as unknown as Record<string, number>;
    const { id = 0, root_id: rootId = 0, listed_scan_id: scanId = 0 } = known;
    const ref = { id, path: folder.path, pathBytes: null, depth: 0, identity: null, digest: null };
    const counts = { files: 1, bytes: 1, leftOut: {}, skipped: {} };
    await rig.database.inTransaction((tx) =>
      registerBatch(
        tx,
        { files: new FileRows(rig.database, 200), folders: new FolderRows(rig.database) },
        [
          {
            state: 'part',
            folder: { ...ref, listedScanId: scanId },
            files: [listed],
            subfolders: [],
            counts,
          },
        ],
        { mark: { scanId, rootId, now: 1 }, counters: noScanCounters(), mode: 'all' },
      ),
    );
  };

  it('does not take for a change what a batcher has read meanwhile', async () => {
    await recordRead(seen());
    await register();
    expect(await row()).toMatchObject({ revision: 1, status: 'batched', size: 18 });
  });

  it('tells of the file as it is when it has changed once more', async () => {
    await recordRead({ ...seen(), size: 7 });
    await register();
    expect(await row()).toMatchObject({ revision: 2, status: 'pending', size: 18 });
  });

  it('begins a revision when the row is older than what was listed', async () => {
    await recordRead({ ...listed, ctimeNs: String(BigInt(listed.ctimeNs) - 1n) });
    await register();
    expect(await row()).toMatchObject({ revision: 2, status: 'pending', size: 5 });
  });
});
