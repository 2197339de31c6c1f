import type { Clock } from '#service';
import { ContentOnItsWayError } from './batcher.errors.js';
import {
  keyOf,
  type BatchDraft,
  type BatchesUnit,
  type Committed,
  type CountedFile,
  type FilePart,
} from './committing/commit-unit.js';
import type { Outcome } from './held-files.js';
import type { Bin, Packer } from './packing/packer.js';

export interface BatchingOptions {
  packer: Packer<WaitingFile>;
  /** Commits; resolves when done. */
  commit: (unit: BatchesUnit) => Promise<Pick<Committed, 'onTheirWay'>>;
  /** Files that may be in the process at once. */
  concurrency: number;
  /** What stands around all files of a batch. */
  batchTokens: number;
  lingerMs: number;
  quietMs: number;
  clock: Clock;
}

/** A counted file in an open batch: the part that shares it, and the parts that have batches of their own. */
export interface WaitingFile {
  shared: FilePart;
  alone: FilePart[];
  outcome: Outcome;
}

// Closing a batch before every job sits in one keeps the threads busy while it is committed.
const CROWDED = 0.75;
const STOPPING_LINGER_MS = 100;

/**
 * The open batches. A file waits in one until it is full, has lingered, or nothing more is to come:
 * - nothing is being read or committed, and no job came for `quietMs`: the queue is empty;
 * - most of the jobs that the process may hold wait here, so that few more could come;
 * - the process stops.
 */
export class Batching {
  private waiting = 0;
  private inside = 0;
  private parkedFiles = 0;
  private stopping = false;
  private quiet: NodeJS.Timeout | undefined;
  private linger: NodeJS.Timeout | undefined;

  constructor(private readonly options: BatchingOptions) {}

  /** Files that wait in open batches. */
  get held(): number {
    return this.waiting;
  }

  /** So many files have come: each will be added, or leave without. */
  entered(files: number): void {
    this.inside += files;
    this.stopQuiet();
  }

  left(): void {
    this.inside--;
    this.look();
  }

  /** `outcome` is told when the batch, or batches, of the file are committed. */
  add(file: CountedFile, outcome: Outcome): void {
    const parts = file.parts.map((bytes, index) => ({ file, part: index + 1, bytes }));
    // The last part is the one that leaves room for others.
    const shared = parts.pop() as FilePart;
    const value = { shared, alone: parts, outcome };
    this.waiting++;
    const at = this.options.clock.monotonic();
    this.close(this.options.packer.add({ tokens: shared.bytes.cost, value, at }));
    this.look();
  }

  /** A file waits for one that waits here, so nothing comes of it before that is committed. */
  parked(change: 1 | -1): void {
    this.parkedFiles += change;
    this.look();
  }

  /** From here on nothing lingers: what waits is committed, and what is still being read soon after. */
  stop(): void {
    this.stopping = true;
    this.stopQuiet();
    this.close(this.options.packer.flush());
    this.look();
  }

  private look(): void {
    const { packer, concurrency, quietMs } = this.options;
    const settled = this.waiting + this.parkedFiles;
    if (this.waiting > 0 && settled >= Math.max(1, Math.floor(concurrency * CROWDED)))
      this.close([packer.closeFullest()]);
    const nothingComing = settled >= this.inside;
    if (this.waiting > 0 && nothingComing && this.stopping) this.close(packer.flush());
    if (this.waiting > 0 && nothingComing)
      this.quiet ??= setTimeout(() => this.close(packer.flush()), quietMs);
    else this.stopQuiet();
    this.watchLinger();
  }

  private watchLinger(): void {
    if (this.linger !== undefined || this.waiting === 0) return;
    const { packer, clock } = this.options;
    const lingerMs = this.stopping ? STOPPING_LINGER_MS : this.options.lingerMs;
    const oldest = Math.min(...packer.open.map(({ since }) => since));
    const wait = Math.max(0, oldest + lingerMs - clock.monotonic());
    this.linger = setTimeout(() => {
      this.linger = undefined;
      this.close(packer.closeSince(clock.monotonic() - lingerMs));
      this.watchLinger();
    }, Math.ceil(wait));
  }

  private stopQuiet(): void {
    clearTimeout(this.quiet);
    this.quiet = undefined;
  }

  private close(bins: readonly (Bin<WaitingFile> | undefined)[]): void {
    for (const bin of bins) {
      if (!bin) continue;
      this.waiting -= bin.items.length;
      void this.commit(bin);
    }
    if (this.waiting > 0) return;
    this.stopQuiet();
    clearTimeout(this.linger);
    this.linger = undefined;
  }

  private async commit({ items }: Bin<WaitingFile>): Promise<void> {
    const files = items.map(({ value }) => value);
    try {
      const drafts = draftsOf(files, this.options.batchTokens);
      const { onTheirWay } = await this.options.commit({ kind: 'batches', drafts });
      for (const { outcome, shared } of files)
        if (onTheirWay.has(keyOf(shared.file))) outcome.fail(new ContentOnItsWayError(shared.file.path));
        else outcome.done();
    } catch (error) {
      for (const { outcome } of files) outcome.fail(error);
    }
  }
}

function draftsOf(files: readonly WaitingFile[], batchTokens: number): BatchDraft[] {
  const alone = files.flatMap((file) => file.alone.map((part) => [part]));
  return [files.map(({ shared }) => shared), ...alone].map((parts) => ({
    parts,
    totalTokens: batchTokens + parts.reduce((sum, { bytes }) => sum + bytes.cost, 0),
  }));
}
