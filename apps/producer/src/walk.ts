import type { WorkerPool } from '#worker-pool';
import { FolderTraversalWorkItem, type TraversalContext } from './folder-traversal.js';
import type { FolderRef } from '#tree';

export interface WalkOptions {
  /** Folders still to be listed, nearest to the root first. */
  frontier: (count: number) => Promise<FolderRef[]>;
  pool: Pick<WorkerPool, 'submit'>;
  traversal: TraversalContext;
  /** Throws when the walk must stop: too many items failed. */
  check: () => void;
  /** Ends the walk with its reason. */
  signal: AbortSignal;
}

const PAGE = 512;

/**
 * Breadth-first over a frontier that lives in the database: memory holds one page of it. A folder enters the frontier
 * with the commit that registers it and leaves it with the commit that marks it listed, so a walk that is cut off
 * anywhere goes on from there.
 */
export class Walk {
  private readonly inFlight = new Map<number, 'working' | 'failed'>();
  /** Listed since the last look at the frontier began: that look may have missed their commit. */
  private readonly justEnded = new Set<number>();
  private changes = 0;
  private wake: () => void = () => {};

  constructor(private readonly options: WalkOptions) {}

  async run(): Promise<void> {
    const onAbort = (): void => this.changed();
    this.options.signal.addEventListener('abort', onAbort);
    try {
      while (await this.round()) this.options.check();
    } finally {
      this.options.signal.removeEventListener('abort', onAbort);
    }
  }

  /** Told by the writer: these folders are listed, their subfolders are in the frontier. */
  ended(folderIds: readonly number[]): void {
    for (const id of folderIds) {
      this.inFlight.delete(id);
      this.justEnded.add(id);
    }
    this.changed();
  }

  /** False when there is nothing left. */
  private async round(): Promise<boolean> {
    this.options.signal.throwIfAborted();
    const { changes } = this;
    const page = await this.nextPage();
    for (const folder of page) await this.submit(folder);
    if (page.length === 0 && !this.working() && changes === this.changes) return false;
    if (page.length === 0 || this.inFlight.size >= PAGE / 2) await this.changeSince(changes);
    return true;
  }

  private async nextPage(): Promise<FolderRef[]> {
    this.justEnded.clear();
    const found = await this.options.frontier(PAGE + this.inFlight.size);
    return found.filter(({ id }) => !this.inFlight.has(id) && !this.justEnded.has(id));
  }

  private async submit(folder: FolderRef): Promise<void> {
    this.inFlight.set(folder.id, 'working');
    const item = new FolderTraversalWorkItem(folder, this.options.traversal);
    const process = (signal: AbortSignal): Promise<void> =>
      item.process(signal).catch((error: unknown) => {
        this.inFlight.set(folder.id, 'failed');
        this.changed();
        throw error;
      });
    await this.options.pool.submit({ id: item.id, process });
  }

  private changed(): void {
    this.changes++;
    this.wake();
  }

  private async changeSince(changes: number): Promise<void> {
    if (changes !== this.changes || this.options.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
  }

  private working(): boolean {
    for (const state of this.inFlight.values()) if (state === 'working') return true;
    return false;
  }
}
