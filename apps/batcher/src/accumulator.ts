import { Inject, Injectable } from '@nestjs/common';
import { isTransient } from '#database';
import { formatOf, writtenAs } from '#envelope';
import {
  backoffMs,
  Coalescer,
  faultPoint,
  LOGGER,
  onSaid,
  sleep,
  systemClock,
  within,
  type Logger,
} from '#service';
import { BatcherConfig } from './batcher.config.js';
import { BatcherStoppedError, ContentOnItsWayError } from './batcher.errors.js';
import { BatcherMetrics } from './batcher.metrics.js';
import {
  keyOf,
  weightOf,
  type BatchDraft,
  type Committed,
  type CommitUnit,
  type CountedFile,
  type FilePart,
} from './committing/commit-unit.js';
import { CommitRepository } from './committing/commit.repository.js';
import type { Outcome } from './held-files.js';
import { Packer, type Bin } from './packer.js';

/** A counted file in an open batch: the part that shares it, and the parts that have batches of their own. */
interface WaitingFile {
  shared: FilePart;
  alone: FilePart[];
  outcome: Outcome;
}

// Closing a batch before every job sits in one keeps the threads busy while it is committed.
const CROWDED = 0.75;
const STOPPING_LINGER_MS = 100;
// After the scan only jobs that wait in the queue can come, and those come at once.
const LAST_QUIET_MS = 20;
const ROWS_PER_TRANSACTION = 5_000;
const STOP_MS = 1_000;
const BACKOFF = { baseMs: 200, maxMs: 3_000 };

/**
 * Where files wait for their commit. A counted file waits in an open batch until that is full, has lingered, or nothing more
 * is to come:
 * - nothing is being read or committed, and no job came for `quietMs`: the queue is empty;
 * - most of the jobs that the process may hold wait here, so that few more could come;
 * - the process stops.
 * Batches that are closed meanwhile, and what becomes of other files, are committed together. While the database is away it
 * holds on and tries again; the jobs wait with it. A unit that the database refuses is found and rejected alone.
 */
@Injectable()
export class Accumulator {
  private readonly packer: Packer<WaitingFile>;
  private readonly batchTokens: number;
  private quietMs: number;
  private waiting = 0;
  private coming = 0;
  private committing = 0;
  private parkedFiles = 0;
  private draining = false;
  private quietSince = Infinity;
  private nextLook: NodeJS.Timeout | undefined;
  private batches = 0;
  private readonly stopping = new AbortController();
  private readonly units = new Coalescer<CommitUnit, Committed>({
    work: (units) => this.commitPatiently(units),
    weigh: weightOf,
    limit: ROWS_PER_TRANSACTION,
    blames: (error) => !isTransient(error),
  });

  constructor(
    private readonly config: BatcherConfig,
    private readonly commits: CommitRepository,
    private readonly told: BatcherMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { MAX_BATCH_TOKENS, MAX_BATCH_FILES, PACKING, OPEN_BINS, BATCH_QUIET_MS } = config;
    this.batchTokens = formatOf(writtenAs(config)).batchTokens;
    this.packer = new Packer({
      maxTokens: MAX_BATCH_TOKENS - this.batchTokens,
      maxItems: MAX_BATCH_FILES,
      openBins: PACKING === 'sequential' ? 1 : OPEN_BINS,
    });
    this.quietMs = BATCH_QUIET_MS;
    onSaid('scanned', () => this.scanned());
  }

  /** Files that wait in open batches. */
  get held(): number {
    return this.waiting;
  }

  /** Nothing more will be queued. What waits already waits no longer than what comes now. */
  scanned(): void {
    this.quietMs = Math.min(this.quietMs, LAST_QUIET_MS);
    this.quietSince = Infinity;
    this.look();
  }

  /** So many files have come, and are to be decided about: those to be batched are added meanwhile. */
  entered(files: number): void {
    this.coming += files;
    this.quietSince = Infinity;
  }

  /** So many of them are: what waits is looked at once for all. */
  decided(files: number): void {
    this.coming -= files;
    this.look();
  }

  /** `outcome` is told when the batch, or batches, of the file are committed. */
  add(file: CountedFile, outcome: Outcome): void {
    const parts = file.parts.map((bytes, index) => ({ file, part: index + 1, bytes }));
    // The last part is the one that leaves room for others.
    const shared = parts.pop() as FilePart;
    this.waiting++;
    const item = { tokens: shared.bytes.cost, value: { shared, alone: parts, outcome } };
    for (const bin of this.packer.add({ ...item, at: systemClock.monotonic() })) this.close(bin);
  }

  /** A file that is to be decided about waits for one that waits here: nothing comes of it before that is committed. */
  parked(change: 1 | -1): void {
    this.parkedFiles += change;
    this.look();
  }

  /** Resolves when the unit is committed, or was found to be decided already, with what its transaction came to. */
  async commit(unit: CommitUnit): Promise<Committed> {
    if (this.stopping.signal.aborted) throw new BatcherStoppedError();
    this.committing++;
    try {
      const committed = await this.units.add(unit);
      await faultPoint('batcher.after-complete');
      return committed;
    } finally {
      this.committing--;
      this.look();
    }
  }

  /** From here on nothing lingers: what waits is committed, and what is still being read soon after. */
  drain(): void {
    this.draining = true;
    for (const bin of this.packer.flush()) this.close(bin);
    this.look();
  }

  /** Lets the transaction in progress end, if it does so soon, and gives up the rest. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.units.abandon(new BatcherStoppedError());
    await within(STOP_MS, this.units.drained(), () => {});
    this.logger.info({ batches: this.batches }, 'batches committed in total');
  }

  /** Closes what waits no longer, and comes back when the rest will. */
  private look(): void {
    const { packer, config } = this;
    const now = systemClock.monotonic();
    const crowd = Math.max(1, Math.floor(config.BATCHER_CONCURRENCY * CROWDED));
    while (this.waiting > 0 && this.waiting + this.parkedFiles >= crowd)
      this.close(packer.closeFullest() as Bin<WaitingFile>);
    const lingerMs = this.draining ? STOPPING_LINGER_MS : config.BATCH_LINGER_MS;
    for (const bin of packer.closeSince(now - lingerMs)) this.close(bin);
    const nothingComing = this.coming === this.parkedFiles && this.committing === 0;
    this.quietSince = nothingComing ? Math.min(this.quietSince, now) : Infinity;
    const quietAt = this.quietSince + (this.draining ? 0 : this.quietMs);
    for (const bin of quietAt <= now ? packer.flush() : []) this.close(bin);
    clearTimeout(this.nextLook);
    if (this.waiting === 0) return;
    const oldest = Math.min(...packer.open.map(({ since }) => since));
    const waitMs = Math.min(quietAt, oldest + lingerMs) - now;
    this.nextLook = setTimeout(() => this.look(), Math.ceil(waitMs));
  }

  private close({ items }: Bin<WaitingFile>): void {
    this.waiting -= items.length;
    void this.commitBin(items.map(({ value }) => value));
  }

  private async commitBin(files: readonly WaitingFile[]): Promise<void> {
    try {
      const drafts = draftsOf(files, this.batchTokens);
      const { onTheirWay } = await this.commit({ kind: 'batches', drafts });
      for (const { outcome, shared } of files)
        if (onTheirWay.size > 0 && onTheirWay.has(keyOf(shared.file)))
          outcome.fail(new ContentOnItsWayError(shared.file.path));
        else outcome.done();
    } catch (error) {
      for (const { outcome } of files) outcome.fail(error);
    }
  }

  private async commitPatiently(units: readonly CommitUnit[]): Promise<Committed[]> {
    for (let tries = 0; ; tries++) {
      try {
        const committed = await this.commitOnce(units);
        return units.map(() => committed);
      } catch (error) {
        if (!isTransient(error) || this.stopping.signal.aborted) throw error;
        const retryMs = backoffMs(tries, BACKOFF);
        this.logger.warn(
          { err: error, units: units.length, retry_ms: retryMs },
          `the database cannot commit now; retrying in ${retryMs} ms`,
        );
        await sleep(retryMs, this.stopping.signal);
      }
    }
  }

  private async commitOnce(units: readonly CommitUnit[]): Promise<Committed> {
    await faultPoint('batcher.before-commit');
    const startedAt = performance.now();
    const committed = await this.commits.commit(units);
    this.batches += committed.batches.length;
    await faultPoint('batcher.after-commit');
    this.told.committed(committed, units, (performance.now() - startedAt) / 1_000);
    for (const { id, items, tokens } of committed.batches)
      this.logger.info({ batch_id: id, files: items, tokens }, 'batch committed');
    return committed;
  }
}

function draftsOf(files: readonly WaitingFile[], batchTokens: number): BatchDraft[] {
  const alone = files.flatMap((file) => file.alone.map((part) => [part]));
  return [files.map(({ shared }) => shared), ...alone].map((parts) => ({
    parts,
    totalTokens: batchTokens + parts.reduce((sum, { bytes }) => sum + bytes.cost, 0),
  }));
}
