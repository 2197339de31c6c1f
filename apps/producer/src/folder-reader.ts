import { MessageChannel } from 'node:worker_threads';
import type { ThreadPool } from '#worker-pool';
import type { ListTask, StreamAnswer } from './list-task.js';
import type { FolderListing, FolderRef, ListingChunk, ListingRules, RefusedLine, StreamEnd } from '#tree';

/** With the lines of ignore files that were not followed. */
export type RuledListing = FolderListing & { refused?: RefusedLine[] };

interface Request {
  folder: FolderRef;
  resolve: (listing: RuledListing) => void;
  reject: (error: unknown) => void;
}

/** Folders that one thread lists in one go; a trip to a thread costs as much as listing a small folder. */
const GROUP = 16;

/**
 * Lists folders on threads. Requests that come together travel together. A folder too large for one answer is streamed,
 * never more than a few chunks ahead of `take`.
 */
export class FolderReader {
  private readonly waiting: Request[] = [];
  private groups = 0;
  private scheduled = false;

  constructor(
    private readonly threads: Pick<ThreadPool, 'run' | 'threads'>,
    private readonly rules: ListingRules,
  ) {}

  list(folder: FolderRef): Promise<RuledListing> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ folder, resolve, reject });
      this.schedule();
    });
  }

  async stream(
    folder: FolderRef,
    take: (chunk: ListingChunk) => Promise<void>,
    signal: AbortSignal,
  ): Promise<StreamEnd> {
    const { port1, port2 } = new MessageChannel();
    const acknowledged = new Int32Array(new SharedArrayBuffer(4));
    const inbox = new ChunkInbox(take, acknowledged);
    port1.on('message', (text: string) => inbox.receive(text));
    const { rules } = this;
    const task: ListTask = { kind: 'stream', rules, folder, port: port2, acknowledged };
    try {
      const run = this.threads.run<string>(task, { signal, transferList: [port2] });
      const answer = JSON.parse(await Promise.race([run, inbox.failed])) as StreamAnswer;
      await inbox.complete(answer.chunks);
      return answer.end;
    } finally {
      port1.close();
    }
  }

  private schedule(): void {
    if (this.scheduled || this.groups >= this.threads.threads || this.waiting.length === 0) return;
    this.scheduled = true;
    // The next turn: workers that were freed together ask together.
    setImmediate(() => {
      this.scheduled = false;
      void this.send(this.waiting.splice(0, GROUP));
      this.schedule();
    });
  }

  private async send(group: readonly Request[]): Promise<void> {
    this.groups++;
    try {
      const { rules } = this;
      const task: ListTask = { kind: 'list', rules, folders: group.map(({ folder }) => folder) };
      const listings = JSON.parse(await this.threads.run<string>(task)) as RuledListing[];
      group.forEach(({ resolve }, index) => resolve(listings[index] as RuledListing));
    } catch (error) {
      // Asked again one by one, so that the fault of one folder, or a thread that died of it, fails no other.
      if (group.length > 1) await Promise.all(group.map((request) => this.send([request])));
      else group[0]?.reject(error);
    } finally {
      this.groups--;
      this.schedule();
    }
  }
}

/** Takes chunks one after the other, in order, and tells the thread how many were taken. */
class ChunkInbox {
  private last: Promise<void> = Promise.resolve();
  private received = 0;
  private fail!: (error: unknown) => void;
  private onReceived: () => void = () => {};
  readonly failed: Promise<never>;

  constructor(
    private readonly take: (chunk: ListingChunk) => Promise<void>,
    private readonly acknowledged: Int32Array,
  ) {
    this.failed = new Promise<never>((_, reject) => {
      this.fail = reject;
    });
    this.failed.catch(() => {});
  }

  receive(text: string): void {
    this.received++;
    this.last = this.last.then(() => this.handOver(text));
    this.last.catch(this.fail);
    this.onReceived();
  }

  /** Resolves when `chunks` chunks were received and taken. */
  async complete(chunks: number): Promise<void> {
    while (this.received < chunks)
      await Promise.race([
        this.failed,
        new Promise<void>((resolve) => {
          this.onReceived = resolve;
        }),
      ]);
    await this.last;
  }

  private async handOver(text: string): Promise<void> {
    await this.take(JSON.parse(text) as ListingChunk);
    Atomics.add(this.acknowledged, 0, 1);
    Atomics.notify(this.acknowledged, 0);
  }
}
