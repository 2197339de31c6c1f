import type { ScanOutcome } from '#database';
import { pathKey, pathText } from '#files';
import { faultPoint, tellParent } from '#service';
import { WorkerPool, type ThreadPool } from '#worker-pool';
import { ErrorLedger } from './error-ledger.js';
import { FileEnqueuer } from './file-enqueuer.js';
import { FolderReader } from './folder-reader.js';
import { hashFiles } from './hashing/hashing.js';
import { MassRemovalError, RootUnusableError, TooManyFailuresError } from './producer.errors.js';
import { markRemoved } from './mark-removed.js';
import { Progress } from './progress.js';
import { Registrar } from './registrar.js';
import type { CurrentScan, ScanRows } from './registration/scans.repository.js';
import { rulesText } from './root.js';
import type { ScanParts } from './scan-parts.js';
import { summarize, summaryText } from './summary.js';
import { Walk } from './walk.js';

const PAGE = 1_000;

/**
 * One scan from its row to its outcome. Every write is one transaction under the lease's fence, and every job is sent
 * after the commit of its row; so it may be killed anywhere and the next run goes on from what was committed.
 */
export class Scan {
  private readonly ledger = new ErrorLedger();
  private readonly refusedRules = new Set<string>();
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;
  private readonly begun: number;
  private current!: CurrentScan;
  private pool!: WorkerPool;
  private registrar!: Registrar;
  private enqueuer!: FileEnqueuer;
  private walker!: Walk;
  private before = { files: 0, folders: 0 };
  private fatal: readonly Error[] = [];
  private hashMs = 0;

  constructor(private readonly parts: ScanParts) {
    this.signal = AbortSignal.any([parts.signal, parts.lease.signal, this.stop.signal]);
    this.begun = parts.clock.monotonic();
  }

  /** The exit code: 0 when the scan is complete, or was asked to stop and will be continued. */
  async run(): Promise<number> {
    await faultPoint('producer.before-scan-row');
    await this.begin();
    const progress = this.showProgress();
    try {
      await this.readTree();
      await this.enqueueLeftovers();
      await faultPoint('producer.before-finish');
      const outcome = await this.finish();
      await this.settle();
      return this.report(outcome);
    } catch (error) {
      return await this.endEarly(error);
    } finally {
      progress.stop();
      await this.endParts();
    }
  }

  private async begin(): Promise<void> {
    const { parts } = this;
    const { config, root, lease, workerId, clock, rows, write, logger } = parts;
    const terms = {
      root,
      workerId,
      fence: lease.fence,
      mode: config.SCAN_MODE,
      rules: rulesText(parts.rules),
      resumeWithinMs: config.RESUME_WITHIN_MS,
      now: clock.now(),
    };
    this.current = await write(async (tx) => {
      const scan = await rows.scans.begin(tx, terms);
      const mark = { scanId: scan.id, rootId: scan.rootId, now: terms.now };
      const { text: path, bytes: pathBytes } = pathText(root);
      const entry = { path, pathBytes, key: pathKey(root) };
      if (!scan.resumed) await rows.folders.see(tx, mark, [{ parentId: null, depth: 0, entry }]);
      if (!scan.resumed) await rows.folders.forgetDigestOfOpenSkips(tx, mark);
      await rows.files.forgetAway(tx, scan.rootId);
      if (!scan.resumed && config.SCAN_MODE === 'files') await rows.folders.seeAllKnown(tx, mark);
      return scan;
    });
    const { id, resumed, counters } = this.current;
    this.before = counters;
    logger.info({ scan_id: id, resumed }, resumed ? `scan ${id} continues` : `scan ${id} begins`);
    this.assemble(terms.rules);
  }

  private assemble(rules: string): void {
    const { config, lease, rows, write, queues, clock, trace, logger, metrics } = this.parts;
    const { signal, current: scan } = this;
    const failed = (error: unknown): void => this.stop.abort(error);
    this.pool = new WorkerPool({
      name: 'scan',
      workers: config.WORKERS,
      ambient: false,
      ...{ logger, metrics, signal },
    });
    this.enqueuer = new FileEnqueuer({
      queue: config.PATH_DISCOVERY_QUEUE,
      rows: rows.queueable,
      ...{ trace, queues, lease, write, clock, logger, failed, signal },
    });
    this.registrar = new Registrar({
      ...{ scan, rules, write, clock, failed, signal },
      tables: rows,
      scans: rows.scans,
      mode: config.SCAN_MODE,
      committed: (folders, files) => {
        this.walker.ended(folders);
        return this.enqueuer.add(files);
      },
    });
  }

  private async readTree(): Promise<void> {
    const { threads } = this.parts;
    try {
      await this.walk(threads);
      await this.hash(threads);
    } finally {
      await threads.close();
    }
  }

  private async walk(threads: ThreadPool): Promise<void> {
    const traversal = {
      reader: new FolderReader(threads, this.parts.rules),
      register: (item: Parameters<Registrar['add']>[0]) => this.registrar.add(item),
      nonFatal: (path: string, code: string, message: string) => this.nonFatal(path, code, message),
      ruleRefused: (file: string, message: string) => this.ruleRefused(file, message),
    };
    this.walker = new Walk({
      frontier: (count) => this.parts.rows.folders.frontier(this.current.id, count),
      pool: this.pool,
      traversal,
      check: () => this.checkFailures(),
      signal: this.signal,
    });
    await this.walker.run();
    await this.registrar.drained();
  }

  private async hash(threads: ThreadPool): Promise<void> {
    const { config, rows, write, clock } = this.parts;
    if (config.HASH_SCOPE === 'none' || config.SCAN_MODE === 'folders') return;
    const begun = clock.monotonic();
    try {
      await hashFiles({
        scan: this.current,
        scope: config.HASH_SCOPE,
        algorithm: config.HASH_ALGORITHM,
        tree: { root: pathText(this.parts.root), followLinks: config.FOLLOW_SYMLINKS },
        pool: this.pool,
        ...{ threads, rows, write, clock },
        enqueue: (files) => this.enqueuer.add(files),
        nonFatal: (path, code, message) => this.nonFatal(path, code, message),
        check: () => this.checkFailures(),
        signal: this.signal,
      });
    } finally {
      this.hashMs = clock.monotonic() - begun;
    }
  }

  /** What an earlier run registered but did not enqueue. */
  private async enqueueLeftovers(): Promise<void> {
    await this.enqueuer.drained();
    for (let after = 0; ;) {
      const files = await this.parts.rows.queueable.withoutJob(this.current.rootId, after, PAGE);
      if (files.length === 0) break;
      after = files.at(-1)?.id ?? after;
      await this.enqueuer.add(files);
    }
    await this.enqueuer.drained();
  }

  /** Only a scan that listed everything may say that something is gone. */
  private async finish(): Promise<ScanOutcome> {
    const { clock, rows, write } = this.parts;
    const outcome = this.pool.metrics().failed > 0 ? 'interrupted' : 'completed';
    if (outcome === 'completed') await markRemoved(this.parts, this.current, this.signal);
    await write(async (tx) => {
      const open = await rows.files.countOpenSkips(tx, this.current.rootId);
      this.current.counters = { ...this.current.counters, open };
      await this.saveProgress(tx);
      await rows.scans.end(tx, this.current.id, outcome, clock.now());
    });
    return outcome;
  }

  private report(outcome: ScanOutcome): number {
    const { logger, clock, root } = this.parts;
    const summary = summarize({
      scan: this.current,
      root: pathText(root).text,
      outcome,
      elapsedMs: clock.monotonic() - this.begun,
      hashMs: this.hashMs,
      enqueued: this.enqueuer.enqueued,
      filesThisRun: this.current.counters.files - this.before.files,
      foldersThisRun: this.current.counters.folders - this.before.folders,
      ledger: this.ledger,
      failed: this.pool.metrics().failed + this.registrar.lost,
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
    const { signal, lease, logger } = this.parts;
    const cause: unknown = this.signal.reason ?? error;
    if (signal.aborted && !lease.signal.aborted) {
      await this.checkpoint('interrupted', null);
      logger.info('scan interrupted; the next run continues it');
      return this.report('interrupted');
    }
    if (lease.signal.aborted) throw lease.signal.reason;
    const refused = cause instanceof MassRemovalError ? 'refused' : 'failed';
    await this.checkpoint(refused, cause instanceof Error ? cause.message : String(cause));
    if (this.registrar.lost > 0 && cause instanceof Error) this.fatal = [...this.fatal, cause];
    this.report(refused);
    throw cause;
  }

  private async checkpoint(outcome: ScanOutcome, error: string | null): Promise<void> {
    const { write, rows, clock, logger } = this.parts;
    try {
      await write(async (tx) => {
        await this.saveProgress(tx);
        await rows.scans.end(tx, this.current.id, outcome, clock.now(), error);
      });
    } catch (cause) {
      // The rows themselves are the checkpoint; the note about it may be missing.
      logger.warn({ err: cause }, 'the outcome of the scan could not be recorded');
    }
  }

  private saveProgress(tx: Parameters<ScanRows['saveProgress']>[0]): Promise<void> {
    const { rows, clock, rules } = this.parts;
    const checkpoint = { at: clock.now(), rules: rulesText(rules) };
    return rows.scans.saveProgress(tx, this.current.id, this.current.counters, checkpoint);
  }

  private checkFailures(): void {
    const { failed } = this.pool.metrics();
    if (failed > this.parts.config.ERROR_THRESHOLD) throw new TooManyFailuresError(failed);
  }

  private nonFatal(path: string, code: string, message: string): void {
    const { logger, root } = this.parts;
    if (path === pathText(root).text)
      return this.stop.abort(new RootUnusableError(path, `cannot be listed (${code}: ${message})`));
    this.ledger.add({ path, code, message });
    logger.warn({ path, code }, `not readable: ${message}`);
  }

  private ruleRefused(path: string, message: string): void {
    const told = `${path}: ${message}`;
    if (this.refusedRules.has(told)) return;
    this.refusedRules.add(told);
    this.ledger.add({ path, code: 'RULE_REFUSED', message });
    this.parts.logger.warn({ path }, told);
  }

  private showProgress(): Progress {
    const { config, logger, clock } = this.parts;
    const progress = new Progress({
      facts: () => ({
        folders: this.current.counters.folders,
        files: this.current.counters.files,
        pool: this.pool.metrics(),
        workers: config.WORKERS,
        elapsedMs: clock.monotonic() - this.begun,
      }),
      logger,
      wanted: config.PROGRESS,
      terminal: process.stderr,
      logEveryMs: config.PROGRESS_INTERVAL_MS,
    });
    progress.start();
    return progress;
  }

  private async endParts(): Promise<void> {
    this.stop.abort();
    await this.settle();
  }

  /** Until nothing is being listed, written or sent any more. */
  private async settle(): Promise<void> {
    this.pool.stop();
    this.fatal = await this.pool.wait();
    await this.registrar.idle();
    await this.enqueuer.idle();
  }
}
