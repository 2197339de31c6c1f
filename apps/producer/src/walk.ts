import type { FolderRef } from '#tree';
import { FolderTraversalWorkItem, type Traversal } from './folder-traversal.js';
import { InFlight } from './in-flight.js';
import type { Scan } from './scan.js';

const PAGE = 512;
/** Folders that one thread lists in one go. */
const GROUP = 16;
const FEW_ITEMS = PAGE / GROUP / 2;

/**
 * Breadth-first over a frontier that lives in the database: memory holds a page of it. A folder enters the frontier
 * with the commit that registers it and leaves it with the commit that marks it listed, so a walk that is cut off
 * anywhere goes on from there.
 */
export class Walk {
  /** Folders that are being listed, were since the last look at the frontier, or failed. */
  private readonly taken = new Set<number>();
  /** Those of them that ended: a look at the frontier that began before may not have seen their commit. */
  private readonly ended: number[] = [];
  private readonly inFlight: InFlight;

  constructor(
    private readonly scan: Scan,
    private readonly traversal: Traversal,
  ) {
    this.inFlight = new InFlight(scan.pool, scan.signal);
  }

  async run(): Promise<void> {
    for (let more = true; more; this.scan.checkFailures()) more = await this.round();
  }

  /** False when there is nothing left. */
  private async round(): Promise<boolean> {
    const { inFlight, ended } = this;
    const page = await this.nextPage();
    const size = Math.min(GROUP, Math.ceil(page.length / this.scan.parts.threads.threads));
    for (let at = 0; at < page.length; at += size) await this.submit(page.slice(at, at + size));
    if (page.length === 0 && inFlight.count === 0 && ended.length === 0) return false;
    await inFlight.until(() => inFlight.count === 0 || (inFlight.count <= FEW_ITEMS && ended.length > 0));
    this.scan.signal.throwIfAborted();
    return true;
  }

  private async nextPage(): Promise<FolderRef[]> {
    for (const id of this.ended.splice(0)) this.taken.delete(id);
    const { rows } = this.scan.parts;
    const found = await rows.folders.frontier(this.scan.row.id, PAGE + this.taken.size);
    return found.filter(({ id }) => !this.taken.has(id));
  }

  private async submit(folders: readonly FolderRef[]): Promise<void> {
    const ids = folders.map(({ id }) => id);
    for (const id of ids) this.taken.add(id);
    const item = new FolderTraversalWorkItem(folders, this.traversal);
    await this.inFlight.submit(item, () => this.ended.push(...ids));
  }
}
