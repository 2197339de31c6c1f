import { faultPoint } from '#service';
import type { FolderListing, FolderRef } from '#tree';
import { ItemFailedError, type WorkItem } from '#worker-pool';
import type { FolderReader } from './folder-reader.js';
import type { ListAnswer, ListingPart } from './scan.thread.js';
import type { Registrar } from './registrar.js';
import type { Scan } from './scan.js';

/** Where the folders of a scan are listed, and what they are handed to. */
export interface Traversal {
  reader: Pick<FolderReader, 'list' | 'stream'>;
  registrar: Pick<Registrar, 'add'>;
  scan: Pick<Scan, 'unreadable' | 'ledger'>;
}

/**
 * Lists a few folders and registers their files and subfolders; it ends with their commit, and fails with it. Subfolders
 * become work only once they are committed, so no folder is processed before the one above it, and none is lost with this
 * process. What is not listed, because a stop or a full answer came first, stays in the frontier.
 */
export class FolderTraversalWorkItem implements WorkItem {
  constructor(
    private readonly folders: readonly FolderRef[],
    private readonly traversal: Traversal,
  ) {}

  get id(): string {
    return this.folders[0]?.path ?? '';
  }

  async process(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let answer: ListAnswer;
    try {
      for (let n = 0; n < this.folders.length; n++) await faultPoint('producer.mid-walk');
      answer = await this.traversal.reader.list(this.folders, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (this.folders.length === 1) throw error;
      return this.processEach(signal);
    }
    if (!signal.aborted) await this.register(answer, signal);
  }

  /** So that the fault of one folder, or a thread that died of it, fails no other. */
  private async processEach(signal: AbortSignal): Promise<void> {
    const items = this.folders.map((folder) => new FolderTraversalWorkItem([folder], this.traversal));
    const ended = await Promise.allSettled(items.map((item) => item.process(signal)));
    ended.forEach((outcome, at) => {
      if (outcome.status === 'rejected') throw new ItemFailedError(items[at]?.id ?? '', outcome.reason);
    });
  }

  private async register({ listings, refused }: ListAnswer, signal: AbortSignal): Promise<void> {
    for (const line of refused) this.traversal.scan.ledger.ruleRefused(line);
    await Promise.all(
      listings.map((listing, at) => {
        const folder = this.folders[at] as FolderRef;
        return listing.state === 'large' ? this.stream(folder, signal) : this.add(folder, listing);
      }),
    );
  }

  private async stream(folder: FolderRef, signal: AbortSignal): Promise<void> {
    for await (const part of this.traversal.reader.stream(folder, signal)) await this.add(folder, part);
  }

  private add(folder: FolderRef, listing: FolderListing | ListingPart): Promise<void> {
    if (listing.state === 'failed')
      this.traversal.scan.unreadable(folder.path, listing.error, listing.message);
    return this.traversal.registrar.add({ folder, ...listing });
  }
}
