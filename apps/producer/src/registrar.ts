import type { ScanMode, Work } from '#database';
import { faultPoint, within, type Clock } from '#service';
import { registerBatch, type Tables } from './registration/register-batch.js';
import { weightOf, type QueueableFile, type Registration } from './registration/registration.js';
import type { ScanCounters } from './registration/scan-counters.js';
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
 * The one writer of a scan. While a transaction commits, the next rows gather; each transaction takes at most 1,000.
 * `add` waits while too many rows wait. The first error ends it: everything after is refused with that error.
 */
export class Registrar {
  private readonly queue: Registration[] = [];
  private waiting = 0;
  private running: Promise<void> | undefined;
  private failure: { error: unknown; folders: number } | undefined;
  private room = gate();
  private full = gate();

  constructor(private readonly options: RegistrarOptions) {}

  /** Folders whose rows an error kept from being written. */
  get lost(): number {
    return this.failure ? this.failure.folders : 0;
  }

  get counters(): ScanCounters {
    return this.options.scan.counters;
  }

  async add(registration: Registration): Promise<void> {
    while (this.waiting >= MAX_WAITING && !this.failure && !this.options.signal.aborted)
      await this.room.opened;
    this.throwIfEnded();
    this.queue.push(registration);
    this.waiting += weightOf(registration);
    if (this.waiting >= MAX_ROWS) this.full.open();
    this.running ??= this.run();
  }

  /** Resolves when everything added is committed; rejects when it never will be. */
  async drained(): Promise<void> {
    while (this.running) await this.running;
    this.throwIfEnded();
  }

  /** Resolves when nothing is being written any more, however it ended. */
  async idle(): Promise<void> {
    await this.running;
  }

  private throwIfEnded(): void {
    if (this.failure) throw this.failure.error;
    this.options.signal.throwIfAborted();
  }

  private async run(): Promise<void> {
    let batch: Registration[] = [];
    // Not on the stack of the first `add`: what is added in the same turn is written together.
    await new Promise((resolve) => setImmediate(resolve));
    try {
      while (this.queue.length > 0 && !this.options.signal.aborted) {
        batch = this.takeBatch();
        await this.commit(batch);
        if (this.queue.length > 0 && this.waiting < MAX_ROWS) await this.gathered();
      }
    } catch (error) {
      this.failure = { error, folders: foldersOf([...batch, ...this.queue]) };
      this.options.failed(error);
    }
    this.running = undefined;
    this.openRoom();
  }

  /**
   * Where listings come faster than commits, the next transaction waits a moment for more of them. Folders that are what
   * they were are one row each: without the wait, a rescan had 76 transactions instead of 30.
   */
  private async gathered(): Promise<void> {
    this.full = gate();
    await within(GATHER_MS, this.full.opened, () => {});
  }

  private takeBatch(): Registration[] {
    const batch: Registration[] = [];
    let weight = 0;
    for (let next = this.queue[0]; next; next = this.queue[0]) {
      weight += weightOf(next);
      if (batch.length > 0 && weight > MAX_ROWS) break;
      batch.push(next);
      this.queue.shift();
    }
    return batch;
  }

  private async commit(batch: readonly Registration[]): Promise<void> {
    const { scan, committed } = this.options;
    const { queueable, counters } = await this.write(batch);
    scan.counters = counters;
    await faultPoint('producer.after-register');
    this.waiting -= batch.reduce((sum, item) => sum + weightOf(item), 0);
    this.openRoom();
    const ended = batch.filter(({ kind }) => kind !== 'part').map(({ folder }) => folder.id);
    await committed(ended, queueable);
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

function foldersOf(registrations: readonly Registration[]): number {
  return new Set(registrations.map(({ folder }) => folder.id)).size;
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
