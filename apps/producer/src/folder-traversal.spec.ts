import { describe, expect, it } from '@jest/globals';
import type { FolderRef } from '#tree';
import { FolderTraversalWorkItem, type Traversal } from './folder-traversal.js';

const FOLDER: FolderRef = {
  ...{ id: 7, path: '/r/a', pathBytes: null, depth: 1 },
  ...{ identity: '1:1', listedScanId: 0, digest: null },
};

/** A reader that gives what `listing` gives for each folder, and what became of it. */
function traversal(listing: (folder: FolderRef) => Promise<unknown>, folders = [FOLDER]) {
  const done = { listed: 0, registered: [] as unknown[], told: [] as string[][] };
  const list = async (asked: readonly FolderRef[]): Promise<unknown> => {
    done.listed++;
    return { listings: await Promise.all(asked.map(listing)), refused: [] };
  };
  const context = {
    reader: { list },
    registrar: { add: async (item: unknown) => void done.registered.push(item) },
    scan: { unreadable: (...told: string[]) => void done.told.push(told) },
  } as unknown as Traversal;
  return { item: new FolderTraversalWorkItem(folders, context), done };
}

const UNREADABLE = { state: 'failed', error: 'EACCES', message: 'permission denied' };
const going = (): AbortSignal => new AbortController().signal;

describe('the traversal of a folder', () => {
  it('is known by the path of its first folder', () => {
    expect(traversal(async () => UNREADABLE).item.id).toBe('/r/a');
  });

  it('lists nothing once it is cancelled', async () => {
    const { item, done } = traversal(async () => UNREADABLE);
    await item.process(AbortSignal.abort());
    expect(done).toEqual({ listed: 0, registered: [], told: [] });
  });

  it('registers nothing when it is cancelled while it lists', async () => {
    const stop = new AbortController();
    const { item, done } = traversal(async () => {
      stop.abort();
      return UNREADABLE;
    });
    await item.process(stop.signal);
    expect(done).toEqual({ listed: 1, registered: [], told: [] });
  });

  it('does not fail by the error of a listing that was cancelled', async () => {
    const stop = new AbortController();
    const { item } = traversal(async () => {
      stop.abort();
      throw new Error('given up');
    });
    await expect(item.process(stop.signal)).resolves.toBeUndefined();
  });

  it('records a folder that cannot be read, tells of it, and does not fail', async () => {
    const { item, done } = traversal(async () => UNREADABLE);
    await item.process(going());
    expect(done.registered).toEqual([{ folder: FOLDER, ...UNREADABLE }]);
    expect(done.told).toEqual([['/r/a', 'EACCES', 'permission denied']]);
  });

  it('fails by an error that is not of the folder', async () => {
    const { item } = traversal(() => Promise.reject(new Error('thread died')));
    await expect(item.process(going())).rejects.toThrow('thread died');
  });

  it('fails alone of several that are listed in one go', async () => {
    const bad = { ...FOLDER, id: 8, path: '/r/bad' };
    const { item, done } = traversal(
      (folder) => (folder === bad ? Promise.reject(new Error('thread died')) : Promise.resolve(UNREADABLE)),
      [bad, FOLDER],
    );
    await expect(item.process(going())).rejects.toThrow('thread died');
    expect(done.registered).toEqual([{ folder: FOLDER, ...UNREADABLE }]);
  });

  it('leaves to a later one what did not fit into the answer', async () => {
    const { item, done } = traversal(async () => UNREADABLE, [FOLDER, { ...FOLDER, id: 8 }]);
    const { traversal: context } = item as unknown as { traversal: Traversal };
    context.reader.list = async () => ({ listings: [UNREADABLE as never], refused: [] });
    await item.process(going());
    expect(done.registered).toEqual([{ folder: FOLDER, ...UNREADABLE }]);
  });

  it('fails when the transaction of its rows fails', async () => {
    const { item } = traversal(async () => UNREADABLE);
    const { traversal: context } = item as unknown as { traversal: Traversal };
    context.registrar.add = () => Promise.reject(new Error('disk full'));
    await expect(item.process(going())).rejects.toThrow('disk full');
  });
});
