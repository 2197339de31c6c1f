import { on } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import type { FolderListing, FolderRef, ListingRules } from '#tree';
import type { ThreadPool } from '#worker-pool';
import type { ListAnswer, ListingPart, ListTask } from './scan.thread.js';

/** Lists folders on threads. */
export class FolderReader {
  private readonly rules: string;

  constructor(
    private readonly threads: Pick<ThreadPool, 'run'>,
    rules: ListingRules,
  ) {
    this.rules = JSON.stringify(rules);
  }

  /** Several in one go: a trip to a thread costs as much as listing a small folder. */
  async list(folders: readonly FolderRef[], signal: AbortSignal): Promise<ListAnswer> {
    const task: ListTask = { kind: 'list', rules: this.rules, folders: JSON.stringify(folders) };
    return JSON.parse(await this.threads.run<string>(task, { signal })) as ListAnswer;
  }

  /** A folder too large for one answer, never more than a few parts ahead of who takes them. */
  async *stream(folder: FolderRef, signal: AbortSignal): AsyncGenerator<ListingPart | FolderListing> {
    const { port1, port2 } = new MessageChannel();
    const taken = new Int32Array(new SharedArrayBuffer(4));
    const folders = JSON.stringify([folder]);
    const task: ListTask = { kind: 'stream', rules: this.rules, folders, port: port2, taken };
    const failed = new AbortController();
    try {
      const parts = on(port1, 'message', { signal: failed.signal });
      this.threads
        .run(task, { signal, transferList: [port2] })
        .catch((error: unknown) => failed.abort(error));
      for await (const [text] of parts as AsyncIterable<[string]>) {
        const part = JSON.parse(text) as ListingPart | FolderListing;
        yield part;
        if (part.state !== 'part') return;
        Atomics.add(taken, 0, 1);
        Atomics.notify(taken, 0);
      }
    } catch (error) {
      // A stop leaves the folder unlisted, and the next run lists it.
      if (!signal.aborted) throw failed.signal.reason ?? error;
    } finally {
      port1.close();
    }
  }
}
