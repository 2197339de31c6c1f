import type { ScanMode, Work } from '#database';
import { Coalescer, faultPoint, type Clock } from '#service';
import { registerBatch, type Tables } from './registration/register-batch.js';
import { weightOf, type QueueableFile, type Registration } from './registration/registration.js';
import type { CurrentScan, ScanRows } from './registration/scans.repository.js';

export interface RegistrarOptions {
  scan: CurrentScan;
  /** What the scan looks for, kept with its checkpoint. */
  rules: string;
  mode: ScanMode;
  tables: Tables;
  scans: ScanRows;
  /** A transaction that commits only under the lease. */
  write: <T>(work: Work<T>) => Promise<T>;
  clock: Clock;
  /** After the commit: the folders that ended, and the files that want a job. Its wait slows the writing down. */
  committed: (folderIds: readonly number[], files: readonly QueueableFile[]) => Promise<void>;
  /** Told of the first error, once: nothing is written after it. */
  failed: (error: unknown) => void;
  signal: AbortSignal;
}

const MAX_ROWS = 1_000;
const MAX_WAITING = 2 * MAX_ROWS;
const GATHER_MS = 15;

/**
 * The one writer of a scan: each transaction takes at most 1,000 rows. `add` waits while too many rows wait. The first error
 * ends it: everything after is refused with that error.
 */
export class Registrar {
  private readonly writer = new Coalescer<Registration, void>({
    work: (batch) => this.commit(batch),
    weigh: weightOf,
    limit: MAX_ROWS,
    // Folders that are what they were are one row each: without the wait, a rescan had 76 transactions instead of 30.
    gatherMs: GATHER_MS,
    blames: () => false,
  });
  private waiting = 0;
  private failure: { error: unknown; folders: Set<number> } | undefined;
  private room = gate();

  constructor(private readonly options: RegistrarOptions) {}

  /** Folders whose rows an error kept from being written. */
  get lost(): number {
    return this.failure?.folders.size ?? 0;
  }

  async add(registration: Registration): Promise<void> {
    while (this.waiting >= MAX_WAITING && !this.failure && !this.options.signal.aborted)
      await this.room.opened;
    this.throwIfEnded();
    this.waiting += weightOf(registration);
    this.writer.add(registration).catch((error: unknown) => this.failed(registration, error));
  }

  /** Resolves when everything added is committed; rejects when it never will be. */
  async drained(): Promise<void> {
    await this.writer.drained();
    this.throwIfEnded();
  }

  /** Resolves when nothing is being written any more, however it ended. */
  async idle(): Promise<void> {
    await this.writer.drained();
  }

  private throwIfEnded(): void {
    if (this.failure) throw this.failure.error;
    this.options.signal.throwIfAborted();
  }

  private failed({ folder }: Registration, error: unknown): void {
    if (this.options.signal.aborted && !this.failure) return;
    if (!this.failure) {
      this.failure = { error, folders: new Set() };
      this.writer.abandon(error);
      this.options.failed(error);
    }
    this.failure.folders.add(folder.id);
  }

  private async commit(batch: readonly Registration[]): Promise<void> {
    const { scan, committed, signal } = this.options;
    try {
      signal.throwIfAborted();
      const { queueable, counters } = await this.write(batch);
      scan.counters = counters;
      await faultPoint('producer.after-register');
      this.waiting -= batch.reduce((sum, item) => sum + weightOf(item), 0);
      this.openRoom();
      const ended = batch.filter(({ kind }) => kind !== 'part').map(({ folder }) => folder.id);
      await committed(ended, queueable);
    } finally {
      this.openRoom();
    }
  }

  private write(batch: readonly Registration[]) {
    const { scan, rules, tables, scans, clock, mode } = this.options;
    const mark = { scanId: scan.id, rootId: scan.rootId, now: clock.now() };
    return this.options.write(async (tx) => {
      const outcome = await registerBatch(tx, tables, batch, { mark, counters: scan.counters, mode });
      await scans.saveProgress(tx, scan.id, outcome.counters, { at: mark.now, rules });
      return outcome;
    });
  }

  private openRoom(): void {
    this.room.open();
    this.room = gate();
  }
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
