import { faultPoint } from '#service';
import type { WorkItem } from '#worker-pool';
import type { FolderReader } from './folder-reader.js';
import { noCounts, type FolderListing, type FolderRef, type ListingChunk, type StreamEnd } from '#tree';
import type { Registration } from './registration/registration.js';

export interface TraversalContext {
  reader: FolderReader;
  /** Waits while the writer is behind. Nothing is ever dropped: what is not registered is not listed. */
  register: (registration: Registration) => Promise<void>;
  /** A folder that could not be listed; the scan goes on. */
  nonFatal: (path: string, code: string, message: string) => void;
  /** A line of an ignore file that is not followed; told by every thread that met it. */
  ruleRefused: (file: string, message: string) => void;
}

/**
 * Lists one folder and hands its files and subfolders to the writer. Subfolders become work only once they are
 * committed, so no folder is processed before the one above it, and none is lost with this process.
 */
export class FolderTraversalWorkItem implements WorkItem {
  constructor(
    private readonly folder: FolderRef,
    private readonly context: TraversalContext,
  ) {}

  get id(): string {
    return this.folder.path;
  }

  async process(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      await this.traverse(signal);
    } catch (error) {
      // A stop leaves the folder unlisted, and the next run lists it.
      if (!signal.aborted) throw error;
    }
  }

  private async traverse(signal: AbortSignal): Promise<void> {
    await faultPoint('producer.mid-walk');
    const listing = await this.context.reader.list(this.folder);
    if (signal.aborted) return;
    for (const { file, line, pattern } of listing.refused ?? [])
      this.context.ruleRefused(file, `line ${line} is not followed, it has too many wildcards: ${pattern}`);
    await this.context.register(
      listing.state === 'large' ? await this.streamed(signal) : this.registration(listing),
    );
  }

  private async streamed(signal: AbortSignal): Promise<Registration> {
    const take = (chunk: ListingChunk): Promise<void> =>
      this.context.register({ kind: 'part', folder: this.folder, ...chunk });
    return this.registration(await this.context.reader.stream(this.folder, take, signal));
  }

  private registration(listing: Exclude<FolderListing, { state: 'large' }> | StreamEnd): Registration {
    const { folder } = this;
    switch (listing.state) {
      case 'listed': {
        const { identity, digest, files, subfolders, counts } = listing;
        return { kind: 'listed', folder, identity, digest, files, subfolders, counts };
      }
      case 'streamed': {
        const { identity, digest } = listing;
        return { kind: 'listed', folder, identity, digest, files: [], subfolders: [], counts: noCounts() };
      }
      case 'unchanged': {
        const { identity, digest, counts } = listing;
        return { kind: 'unchanged', folder, identity, digest, counts };
      }
      case 'failed':
        this.context.nonFatal(folder.path, listing.error, listing.message);
        return { kind: 'failed', folder, error: listing.error };
    }
  }
}
