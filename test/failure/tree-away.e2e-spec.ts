import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { execute } from '#database';
import { NotRunHere, type Child } from '#testing';
import { BatcherRig, closeRigs, expectKept } from '../e2e/batcher-rig.js';

const run = promisify(execFile);

describe('a tree that is away on one node only', () => {
  closeRigs();

  it('keeps the batcher there from starting, and costs no file when it goes away later', async () => {
    await requireNamespaces();
    const rig = await BatcherRig.open({ filesPerJob: 2 });
    const cover = `mount -t tmpfs none ${rig.folder}`;
    await rig.add({ 'a.txt': 'first file', 'b.txt': 'second file' });
    const { dev, ino } = await stat(rig.folder);
    await rig.database.inTransaction((tx) => execute(tx, `UPDATE folders SET inode = '${dev}:${ino}'`));

    const node = rig.startOnNode(cover);
    const told = await node.log({ part: 'tree' });
    expect(told.reason).toContain('mount the same tree at the same path on every node');
    expect(await rig.statuses()).toEqual({ pending: 2 });
    await onNode(node, `umount ${rig.folder}`);
    expect(await rig.settled()).toEqual({ batched: 2 });

    await onNode(node, cover);
    await rig.add({ 'c.txt': 'third file', 'd.txt': 'fourth file' });
    await node.log({ msg: 'file waits for its folder' });
    expect(await node.end('SIGTERM')).toEqual({ code: 0, signal: null });
    rig.start();
    expect(await rig.settled()).toEqual({ batched: 4 });
    await expectKept(rig);
  }, 180_000);
});

function onNode(node: Child, command: string): Promise<unknown> {
  return run('nsenter', ['--target', String(node.pid), '--mount', 'sh', '-c', command]);
}

async function requireNamespaces(): Promise<void> {
  await run('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']).catch((error: Error) => {
    throw new NotRunHere(`mount namespaces cannot be made here (${error.message}); run as root`);
  });
}
