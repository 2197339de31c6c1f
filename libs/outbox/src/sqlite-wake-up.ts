import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Logger, Service } from '#service';

// A commit is a few writes to the log: the first says that it will soon be there.
const COMMIT_MS = 5;
// A busy database commits hundreds of times a second; who looks for each finds one event at a time.
const BUSY_MS = 50;
// Others see a commit only after its last write to the log, which nothing tells: on a busy machine the first look is too early.
const LATE_MS = 500;

/**
 * Wakes when anybody commits to the database file, by watching its write-ahead log. Only a hint: where files cannot be
 * watched (some network and container file systems), polling alone remains.
 */
export class SqliteWakeUp implements Service {
  readonly name = 'outbox wake-up';
  private watcher: FSWatcher | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lateTimer: NodeJS.Timeout | undefined;
  private wokenAt = -Infinity;

  constructor(
    /** The database file. */
    private readonly path: string,
    private readonly onWake: () => void,
    private readonly logger: Logger,
  ) {}

  get running(): boolean {
    return this.watcher !== undefined;
  }

  async start(): Promise<void> {
    if (this.watcher) return;
    const log = `${basename(this.path)}-wal`;
    try {
      // The folder, not the log: that file comes and goes with the last connection.
      this.watcher = watch(dirname(this.path), { persistent: false }, (_, name) => {
        if (name === log) this.changed();
      });
      this.watcher.on('error', (error) => this.giveUp(error));
    } catch (error) {
      this.giveUp(error);
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    clearTimeout(this.lateTimer);
    this.timer = this.lateTimer = undefined;
    this.watcher?.close();
    this.watcher = undefined;
  }

  /** Soon after the first change, now and then while there are more, and once when all is quiet: the last commit is never missed. */
  private changed(): void {
    this.lateTimer ??= setTimeout(() => this.onWake(), LATE_MS);
    this.lateTimer.refresh();
    this.timer ??= setTimeout(
      () => {
        this.timer = undefined;
        this.wokenAt = performance.now();
        this.onWake();
      },
      Math.max(COMMIT_MS, this.wokenAt + BUSY_MS - performance.now()),
    );
  }

  private giveUp(error: unknown): void {
    this.logger.warn({ err: error }, 'database file cannot be watched; polling goes on');
    void this.stop();
  }
}
