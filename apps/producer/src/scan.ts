import type { ScanOutcome } from '#database';
import { pathText } from '#files';
import { faultPoint, tellParent } from '#service';
import { WorkerPool } from '#worker-pool';
import { ErrorLedger } from './error-ledger.js';
import { FileEnqueuer } from './file-enqueuer.js';
import { FolderReader } from './folder-reader.js';
import { hashFiles } from './hashing/hashing.js';
import { MassRemovalError, RootUnusableError, TooManyFailuresError } from './producer.errors.js';
import { markRemoved } from './mark-removed.js';
import { Progress } from './progress.js';
import { Registrar } from './registrar.js';
import type { QueueableFile } from './registration/registration.js';
import { rulesText } from './root.js';
import type { ScanParts } from './scan-parts.js';
import { ScanRecord } from './scan-record.js';
import { hashMbPerSecond, summarize, summaryText } from './summary.js';
import { Walk } from './walk.js';

const PAGE = 1_000;

/** One scan from its row to its outcome; resolves with the exit code. */
export async function runScan(parts: ScanParts): Promise<number> {
  await faultPoint('producer.before-scan-row');
  return new Scan(parts, await ScanRecord.begin(parts)).run();
}

/**
 * The steps of a scan. Every write is one transaction under the lease's fence, and every job is sent after the commit of
 * its row; so it may be killed anywhere and the next run goes on from what was committed.
 */
class Scan {
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;
  private readonly begun: number;
  private readonly ledger: ErrorLedger;
  private readonly pool: WorkerPool;
  private readonly walk: Walk;
  private readonly registrar: Registrar;
  private readonly enqueuer: FileEnqueuer;
  private fatal: readonly Error[] = [];
  private hashing: { begun: number; ended?: number } | undefined;

  constructor(
    private readonly parts: ScanParts,
    private readonly record: ScanRecord,
  ) {
    const { signal, lease, clock, config, logger, metrics } = parts;
    this.signal = AbortSignal.any([signal, lease.signal, this.stop.signal]);
    this.begun = clock.monotonic();
    this.ledger = new ErrorLedger(logger);
    const pool = { name: 'scan', workers: config.WORKERS, ambient: false, signal: this.signal };
    this.pool = new WorkerPool({ ...pool, logger, metrics });
    this.walk = this.createWalk();
    this.registrar = this.createRegistrar();
    this.enqueuer = this.createEnqueuer();
  }

  /** 0 when the scan is complete, or was asked to stop and will be continued. */
  async run(): Promise<number> {
    const progress = this.showProgress();
    try {
      await this.list();
      await this.hash();
      await this.enqueueLeftovers();
      await faultPoint('producer.before-finish');
      const outcome = await this.finish();
      await this.settle();
      return this.report(outcome);
    } catch (error) {
      return await this.endEarly(error);
    } finally {
      progress.stop();
      this.stop.abort();
      await this.settle();
    }
  }

  /** Lists every folder, registers what is in it, and enqueues what is new or changed. */
  private async list(): Promise<void> {
    await this.walk.run();
    await this.registrar.drained();
  }

  private async hash(): Promise<void> {
    const { config, rows, write, clock, root, threads } = this.parts;
    if (config.HASH_SCOPE === 'none' || config.SCAN_MODE === 'folders') return;
    this.hashing = { begun: clock.monotonic() };
    await hashFiles({
      scan: this.record.scan,
      scope: config.HASH_SCOPE,
      algorithm: config.HASH_ALGORITHM,
      tree: { root: pathText(root), followLinks: config.FOLLOW_SYMLINKS },
      pool: this.pool,
      ...{ threads, rows, write, clock },
      enqueue: (files) => this.enqueuer.add(files),
      nonFatal: (path, code, message) => this.nonFatal(path, code, message),
      check: () => this.checkFailures(),
      signal: this.signal,
    });
    this.hashing.ended = clock.monotonic();
  }

  /** What an earlier run registered but did not enqueue. */
  private async enqueueLeftovers(): Promise<void> {
    const { rows, write } = this.parts;
    await this.enqueuer.drained();
    for (let after = 0; ;) {
      const files = await rows.queueable.withoutJob(this.record.scan.rootId, after, PAGE);
      if (files.length === 0) break;
      after = files.at(-1)?.id ?? after;
      await write((tx) => rows.queueable.nameJobs(tx, files));
      await this.enqueuer.add(files);
    }
    await this.enqueuer.drained();
  }

  /** Only a scan that listed everything may say that something is gone. */
  private async finish(): Promise<ScanOutcome> {
    const outcome = this.pool.metrics().failed > 0 ? 'interrupted' : 'completed';
    if (outcome === 'completed') await markRemoved(this.parts, this.record.scan, this.signal);
    await this.record.finish(outcome);
    return outcome;
  }

  private report(outcome: ScanOutcome): number {
    const { logger, clock, root, threads } = this.parts;
    const summary = summarize({
      scan: this.record.scan,
      root: pathText(root).text,
      outcome,
      elapsedMs: clock.monotonic() - this.begun,
      hashMs: this.hashMs,
      hashedBytesThisRun: this.record.thisRun('hashedBytes'),
      threads: threads.threads,
      enqueued: this.enqueuer.enqueued,
      filesThisRun: this.record.thisRun('files'),
      foldersThisRun: this.record.thisRun('folders'),
      ledger: this.ledger,
      failed: this.pool.metrics().failed,
      fatal: this.fatal,
    });
    logger.info({ event: 'scan-summary', summary }, summaryText(summary));
    tellParent({ summary: { ...summary } });
    return 0;
  }

  /** Stopped, lost the lease, refused or failed: says which, and leaves a checkpoint if it still may. */
  private async endEarly(error: unknown): Promise<number> {
    this.stop.abort(error);
    await this.settle();
    this.pool.countLost(this.registrar.lost);
    const { signal, lease, logger } = this.parts;
    const cause: unknown = this.signal.reason ?? error;
    if (signal.aborted && !lease.signal.aborted) {
      await this.record.checkpoint('interrupted', null);
      logger.info('scan interrupted; the next run continues it');
      return this.report('interrupted');
    }
    if (lease.signal.aborted) throw lease.signal.reason;
    const refused = cause instanceof MassRemovalError ? 'refused' : 'failed';
    await this.record.checkpoint(refused, cause instanceof Error ? cause.message : String(cause));
    if (this.registrar.lost > 0 && cause instanceof Error) this.fatal = [...this.fatal, cause];
    this.report(refused);
    throw cause;
  }

  /** Until nothing is being listed, written or sent any more. */
  private async settle(): Promise<void> {
    this.pool.stop();
    await this.parts.threads.close();
    this.fatal = await this.pool.wait();
    await this.registrar.idle();
    await this.enqueuer.idle();
  }

  private createWalk(): Walk {
    const { rows, threads, rules } = this.parts;
    const { pool, signal, ledger } = this;
    return new Walk({
      frontier: (count) => rows.folders.frontier(this.record.scan.id, count),
      traversal: {
        reader: new FolderReader(threads, rules),
        register: (registration) => this.registrar.add(registration),
        nonFatal: (path, code, message) => this.nonFatal(path, code, message),
        ruleRefused: (file, message) => ledger.ruleRefused(file, message),
      },
      check: () => this.checkFailures(),
      ...{ pool, signal },
    });
  }

  private createRegistrar(): Registrar {
    const { config, rows, write, clock, rules } = this.parts;
    return new Registrar({
      ...{ scan: this.record.scan, rules: rulesText(rules), mode: config.SCAN_MODE },
      ...{ tables: rows, scans: rows.scans, write, clock, signal: this.signal },
      committed: (folders, files) => this.registered(folders, files),
      failed: (error) => this.stop.abort(error),
    });
  }

  private createEnqueuer(): FileEnqueuer {
    const { lease, rows, write, queue, clock, trace, logger } = this.parts;
    const failed = (error: unknown): void => this.stop.abort(error);
    const { signal } = this;
    return new FileEnqueuer({
      rows: rows.queueable,
      ...{ trace, queue, lease, write, clock, logger, failed, signal },
    });
  }

  private registered(folders: readonly number[], files: readonly QueueableFile[]): Promise<void> {
    this.walk.ended(folders);
    this.record.tell(files);
    return this.enqueuer.add(files);
  }

  private checkFailures(): void {
    const { failed } = this.pool.metrics();
    if (failed > this.parts.config.ERROR_THRESHOLD) throw new TooManyFailuresError(failed);
  }

  private nonFatal(path: string, code: string, message: string): void {
    if (path === pathText(this.parts.root).text)
      this.stop.abort(new RootUnusableError(path, `cannot be listed (${code}: ${message})`));
    else this.ledger.unreadable(path, code, message);
  }

  private get hashMs(): number {
    const { begun, ended = this.parts.clock.monotonic() } = this.hashing ?? { begun: 0, ended: 0 };
    return ended - begun;
  }

  private showProgress(): Progress {
    const { config, logger, clock, threads } = this.parts;
    const progress = new Progress({
      facts: () => ({
        folders: this.record.scan.counters.folders,
        files: this.record.scan.counters.files,
        pool: this.pool.metrics(),
        workers: config.WORKERS,
        elapsedMs: clock.monotonic() - this.begun,
        hashMbPerSecond: hashMbPerSecond(this.record.thisRun('hashedBytes'), this.hashMs, threads.threads),
      }),
      logger,
      wanted: config.PROGRESS,
      terminal: process.stderr,
      logEveryMs: config.PROGRESS_INTERVAL_MS,
    });
    progress.start();
    return progress;
  }
}
