import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import type { FolderRef } from '#tree';
import { WorkerPool } from '#worker-pool';
import type { Traversal } from './folder-traversal.js';
import type { Registration } from './registration/registration.js';
import type { Scan } from './scan.js';
import { Walk } from './walk.js';

/** A tree in memory with a writer that commits a little later, as the real one does. */
class Rig {
  readonly listed: string[] = [];
  readonly failed: unknown[] = [];
  maxHeld = 0;
  private readonly frontier = new Map<number, FolderRef>();
  private nextId = 1;
  readonly stop = new AbortController();
  readonly pool = new WorkerPool({ workers: 4, logger: silentLogger, signal: this.stop.signal });

  constructor(
    private readonly childrenOf: (path: string) => string[],
    private readonly explode: (path: string) => boolean = () => false,
    private readonly check: () => void = () => {},
  ) {}

  async run(root: string): Promise<void> {
    this.see(root, 0);
    const frontier = async (_scan: number, count: number): Promise<FolderRef[]> => {
      const found = [...this.frontier.values()].sort(byDepth).slice(0, count);
      // The answer of a database is a little out of date when it arrives.
      for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
      return found;
    };
    const scan = {
      ...{ pool: this.pool, signal: this.stop.signal, row: { id: 1 }, checkFailures: this.check },
      parts: { rows: { folders: { frontier } }, threads: { threads: 2 } },
    } as unknown as Scan;
    const traversal = {
      reader: { list: (folders: readonly FolderRef[]) => this.list(folders) },
      registrar: { add: (registration: Registration) => this.register(registration) },
    } as unknown as Traversal;
    await new Walk(scan, traversal).run();
  }

  private see(path: string, depth: number): void {
    const id = this.nextId++;
    const folder = { id, path, depth, pathBytes: null, identity: null, listedScanId: 0, digest: null };
    this.frontier.set(id, folder);
    this.maxHeld = Math.max(this.maxHeld, this.frontier.size);
  }

  private async list(folders: readonly FolderRef[]): Promise<unknown> {
    const listings = folders.map(({ path }) => {
      if (this.explode(path)) throw new Error(`cannot list ${path}`);
      const subfolders = this.childrenOf(path).map((child) => ({ path: child, pathBytes: null, key: child }));
      return { state: 'listed', identity: '', digest: '', files: [], subfolders, counts: {} };
    });
    return { listings, refused: [] };
  }

  private async register(registration: Registration): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (registration.state !== 'listed') return;
    this.listed.push(registration.folder.path);
    this.frontier.delete(registration.folder.id);
    for (const { path } of registration.subfolders) this.see(path, registration.folder.depth + 1);
  }
}

const byDepth = (a: FolderRef, b: FolderRef): number => a.depth - b.depth || a.id - b.id;

describe('walk', () => {
  it('lists every folder once, each after the one above it', async () => {
    const rig = new Rig((path) => (path.length < 6 ? [`${path}a`, `${path}b`, `${path}c`] : []));
    await rig.run('r');
    expect(rig.listed).toHaveLength(1 + 3 + 9 + 27 + 81 + 243);
    expect(new Set(rig.listed).size).toBe(rig.listed.length);
    const order = new Map(rig.listed.map((path, index) => [path, index]));
    for (const [path, index] of order)
      if (path !== 'r') expect(order.get(path.slice(0, -1))).toBeLessThan(index);
    rig.pool.stop();
  });

  it('goes down a chain of a thousand folders', async () => {
    const rig = new Rig((path) => (Number(path) < 1000 ? [String(Number(path) + 1)] : []));
    await rig.run('1');
    expect(rig.listed).toHaveLength(1000);
    rig.pool.stop();
  });

  it('ends when the rest of the frontier failed, and lists what did not', async () => {
    const rig = new Rig(
      (path) => (path === 'r' ? ['x', 'y', 'z'] : []),
      (path) => path === 'y',
    );
    await rig.run('r');
    expect(rig.listed.sort()).toEqual(['r', 'x', 'z']);
    expect(rig.pool.metrics().failed).toBe(1);
    rig.pool.stop();
  });

  it('ends with the error of the check', async () => {
    const rig: Rig = new Rig(
      () => [],
      () => true,
      () => {
        if (rig.pool.metrics().failed > 0) throw new Error('enough');
      },
    );
    await expect(rig.run('r')).rejects.toThrow('enough');
    rig.pool.stop();
  });

  it('ends when it is stopped, with folders left', async () => {
    const rig: Rig = new Rig((path) => {
      if (path.length === 5) rig.stop.abort(new Error('stop'));
      return [`${path}a`, `${path}b`];
    });
    await expect(rig.run('r')).rejects.toThrow();
    expect(rig.listed.length).toBeLessThan(200);
  });
});
