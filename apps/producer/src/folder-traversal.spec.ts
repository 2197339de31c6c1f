import { describe, expect, it } from '@jest/globals';
import type { FolderRef } from '#tree';
import { FolderTraversalWorkItem, type TraversalContext } from './folder-traversal.js';

const FOLDER: FolderRef = {
  ...{ id: 7, path: '/r/a', pathBytes: null, depth: 1 },
  ...{ identity: '1:1', listedScanId: 0, digest: null },
};

/** A reader that gives `listing`, and what became of it. */
function traversal(listing: () => Promise<unknown>) {
  const done = { listed: 0, registered: [] as unknown[], told: [] as string[][] };
  const list = (): Promise<unknown> => {
    done.listed++;
    return listing();
  };
  const context = {
    reader: { list },
    register: async (item: unknown) => void done.registered.push(item),
    nonFatal: (...told: string[]) => void done.told.push(told),
    ruleRefused: () => {},
  } as unknown as TraversalContext;
  return { item: new FolderTraversalWorkItem(FOLDER, context), done };
}

const UNREADABLE = { state: 'failed', error: 'EACCES', message: 'permission denied' };
const going = (): AbortSignal => new AbortController().signal;

describe('the traversal of a folder', () => {
  it('is known by its path', () => {
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
    expect(done.registered).toEqual([{ kind: 'failed', folder: FOLDER, error: 'EACCES' }]);
    expect(done.told).toEqual([['/r/a', 'EACCES', 'permission denied']]);
  });

  it('fails by an error that is not of the folder', async () => {
    const { item } = traversal(() => Promise.reject(new Error('thread died')));
    await expect(item.process(going())).rejects.toThrow('thread died');
  });
});
