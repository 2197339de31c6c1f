import type { EntityManager, ScanOutcome, Work } from '#database';
import { pathKey, pathText } from '#files';
import type { Lease } from '#locking';
import type { JobQueue } from '#queue-manager';
import { tellParent, type Clock, type Logger, type Metrics } from '#service';
import type { ListingRules } from '#tree';
import { WorkerPool, type ThreadPool } from '#worker-pool';
import { ErrorLedger } from './error-ledger.js';
import { FileEnqueuer } from './file-enqueuer.js';
import type { ProducerConfig } from './producer.config.js';
import { MassRemovalError, RootUnusableError, TooManyFailuresError } from './producer.errors.js';
import { Progress } from './progress.js';
import type { FileRows } from './registration/files.repository.js';
import type { FolderRows } from './registration/folders.repository.js';
import type { ScanMark } from './registration/registration.js';
import type { ScanCounters } from './registration/scan-counters.js';
import type { CurrentScan, ScanRows } from './registration/scans.repository.js';
import { rulesText } from './root.js';
import { hashMbPerSecond, summarize, summaryText } from './summary.js';

/** What a scan is made of. */
export interface ScanParts {
  config: ProducerConfig;
  root: Buffer;
  rules: ListingRules;
  lease: Lease;
  workerId: string;
  rows: { files: FileRows; folders: FolderRows; scans: ScanRows };
  /** A transaction under the lease. Its work uses only the manager it is given: nothing within it joins. */
  write: <T>(work: Work<T>) => Promise<T>;
  /** Closed by the scan. */
  threads: ThreadPool;
  queue: Pick<JobQueue, 'enqueue'>;
  /** Of the scan and the jobs it makes. */
  trace: string;
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  /** Asks the scan to stop; the next run continues it. */
  signal: AbortSignal;
}

/**
 * A scan that has its row: what its stages share, and how it ends. Every write is one transaction under the lease's fence,
 * and every job is sent after the commit of its row; so it may be killed anywhere and the next run goes on from what was
 * committed.
 */
export class Scan {
  /** Aborts when the scan is asked to stop, loses its lease or fails. */
  readonly signal: AbortSignal;
  readonly pool: WorkerPool;
  readonly ledger: ErrorLedger;
  readonly enqueuer: FileEnqueuer;
  hashing: { begun: number; ended?: number } | undefined;
  private readonly failing = new AbortController();
  private readonly before: ScanCounters;
  private readonly begun: number;

  private constructor(
    readonly parts: ScanParts,
    readonly row: CurrentScan,
  ) {
    const { signal, lease, clock, config, logger, metrics } = parts;
    this.signal = AbortSignal.any([signal, lease.signal, this.failing.signal]);
    this.begun = clock.monotonic();
    this.before = row.counters;
    this.ledger = new ErrorLedger(logger);
    const pool = { name: 'scan', workers: config.WORKERS, ambient: false, signal: this.signal };
    this.pool = new WorkerPool({ ...pool, logger, metrics });
    this.enqueuer = new FileEnqueuer(this);
  }

  /** Begins a scan of the root, or continues the last one. */
  static async begin(parts: ScanParts): Promise<Scan> {
    const { config, root, lease, workerId, clock, rows, write, logger } = parts;
    const terms = {
      ...{ root, workerId, fence: lease.fence, mode: config.SCAN_MODE, rules: rulesText(parts.rules) },
      ...{ resumeWithinMs: config.RESUME_WITHIN_MS, now: clock.now() },
    };
    const row = await write(async (tx) => {
      const current = await rows.scans.begin(tx, terms);
      if (!current.resumed) await seeRoot(tx, parts, current, terms.now);
      await rows.files.forgetAway(tx, current.rootId);
      return current;
    });
    const { id, resumed } = row;
    logger.info({ scan_id: id, resumed }, resumed ? `scan ${id} continues` : `scan ${id} begins`);
    return new Scan(parts, row);
  }

  mark(): ScanMark {
    return { scanId: this.row.id, rootId: this.row.rootId, now: this.parts.clock.now() };
  }

  /** Ends all stages; the first error is what the scan failed of. */
  fail(error: unknown): void {
    this.failing.abort(error);
  }

  /** A folder or file that could not be read; the scan goes on, unless it is the root itself. */
  unreadable(path: string, code: string, message: string): void {
    if (path === pathText(this.parts.root).text)
      this.fail(new RootUnusableError(path, `cannot be listed (${code}: ${message})`));
    else this.ledger.unreadable(path, code, message);
  }

  /** Throws when more work items failed than the scan may survive. */
  checkFailures(): void {
    const { failed } = this.pool.metrics();
    if (failed > this.parts.config.ERROR_THRESHOLD) throw new TooManyFailuresError(failed);
  }

  /** The outcome and what was counted, with the rows that are counted. */
  async end(outcome: ScanOutcome, error: string | null): Promise<void> {
    const { write, rows, rules } = this.parts;
    const { id, rootId, counters } = this.row;
    const { now } = this.mark();
    await write(async (tx) => {
      const open = await rows.files.countOpenSkips(tx, rootId);
      this.row.counters = { ...counters, open };
      const checkpoint = { at: now, rules: rulesText(rules) };
      const values = { outcome, finishedAt: now, error, counters: this.row.counters, checkpoint };
      await rows.scans.save(tx, id, values);
    });
  }

  /** Stopped, lost the lease, refused or failed: says which, and leaves a checkpoint if it still may. */
  async endEarly(error: unknown): Promise<number> {
    this.fail(error);
    await this.settle();
    const { signal, lease, logger } = this.parts;
    if (lease.signal.aborted) throw lease.signal.reason;
    const cause: unknown = this.signal.reason;
    const refused = cause instanceof MassRemovalError ? 'refused' : 'failed';
    const outcome = signal.aborted ? 'interrupted' : refused;
    await this.checkpoint(outcome, cause);
    if (outcome === 'interrupted') logger.info('scan interrupted; the next run continues it');
    await this.report(outcome);
    if (outcome !== 'interrupted') throw cause;
    return 0;
  }

  /** Until nothing is being listed, written or sent any more. */
  async settle(): Promise<readonly Error[]> {
    this.pool.stop();
    await this.parts.threads.stop();
    const failures = await this.pool.wait();
    await this.enqueuer.idle();
    return failures;
  }

  async report(outcome: ScanOutcome): Promise<void> {
    const { logger, root, threads } = this.parts;
    const summary = summarize({
      ...{ row: this.row, before: this.before, outcome, ledger: this.ledger },
      root: pathText(root).text,
      elapsedMs: this.elapsedMs,
      hashMs: this.hashMs,
      threads: threads.threads,
      enqueued: this.enqueuer.enqueued,
      failed: this.pool.metrics().failed,
      fatal: await this.settle(),
    });
    logger.info({ event: 'scan-summary', summary }, summaryText(summary));
    tellParent({ summary: { ...summary } });
  }

  showProgress(): Progress {
    const { config, logger, threads } = this.parts;
    const facts = () => {
      const { folders, files, hashedBytes } = this.row.counters;
      const hashed = hashedBytes - this.before.hashedBytes;
      return {
        ...{ folders, files, pool: this.pool.metrics(), workers: config.WORKERS, elapsedMs: this.elapsedMs },
        hashMbPerSecond: hashMbPerSecond(hashed, this.hashMs, threads.threads),
      };
    };
    const { PROGRESS: wanted, PROGRESS_INTERVAL_MS: logEveryMs } = config;
    return new Progress({ facts, logger, wanted, terminal: process.stderr, logEveryMs });
  }

  /** The rows themselves are the checkpoint; the note about it may be missing. */
  private async checkpoint(outcome: ScanOutcome, cause: unknown): Promise<void> {
    const message = cause instanceof Error ? cause.message : String(cause);
    try {
      await this.end(outcome, outcome === 'interrupted' ? null : message);
    } catch (error) {
      this.parts.logger.warn({ err: error }, 'the outcome of the scan could not be recorded');
    }
  }

  private get elapsedMs(): number {
    return this.parts.clock.monotonic() - this.begun;
  }

  private get hashMs(): number {
    const { begun, ended = this.parts.clock.monotonic() } = this.hashing ?? { begun: 0, ended: 0 };
    return ended - begun;
  }
}

/** What a new scan finds at once: its root, folders whose open skips want another look, and all that are known already. */
async function seeRoot(
  tx: EntityManager,
  { config, root, rows }: ScanParts,
  { id: scanId, rootId }: CurrentScan,
  now: number,
): Promise<void> {
  const mark = { scanId, rootId, now };
  const { text: path, bytes: pathBytes } = pathText(root);
  const entry = { path, pathBytes, key: pathKey(root) };
  await rows.folders.see(tx, mark, [{ parentId: null, depth: 0, entry }]);
  await rows.folders.forgetDigestOfOpenSkips(tx, mark);
  if (config.SCAN_MODE === 'files') await rows.folders.seeAllKnown(tx, mark);
}
