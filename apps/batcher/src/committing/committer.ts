import { isTransient } from '#database';
import { backoffMs, faultPoint, sleep, within, type Logger } from '#service';
import { BatcherStoppedError } from '../batcher.errors.js';
import { weightOf, type Committed, type CommitUnit } from './commit-unit.js';

interface Pending {
  unit: CommitUnit;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface CommitterOptions {
  commit: (units: readonly CommitUnit[]) => Promise<Committed>;
  logger: Logger;
  /** Told of every transaction that committed. */
  onCommitted: (committed: Committed, units: readonly CommitUnit[], seconds: number) => void;
}

const MAX_ROWS = 5_000;
const STOP_MS = 1_000;
const BACKOFF = { baseMs: 200, maxMs: 3_000 };

/**
 * Commits units in groups: what arrives during one transaction goes into the next, so that a slow database gets fewer,
 * larger ones. While the database is away it holds on and tries again; the jobs wait with it. A group that the database
 * refuses is halved until the unit at fault stands alone; only that one is rejected.
 */
export class Committer {
  private queue: Pending[] = [];
  private running: Promise<void> | undefined;
  private batches = 0;
  private readonly stopping = new AbortController();

  constructor(private readonly options: CommitterOptions) {}

  /** Resolves when the unit is committed, or was found to be decided already. */
  commit(unit: CommitUnit): Promise<void> {
    if (this.stopping.signal.aborted) return Promise.reject(new BatcherStoppedError());
    return new Promise((resolve, reject) => {
      this.queue.push({ unit, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Lets the transaction in progress end, if it does so soon, and gives up the rest. */
  async stop(): Promise<void> {
    this.stopping.abort();
    if (this.running) await within(STOP_MS, this.running, () => {});
    this.rejectAll(this.queue.splice(0), new BatcherStoppedError());
    this.options.logger.info({ batches: this.batches }, 'batches committed in total');
  }

  private async run(): Promise<void> {
    // Units that are ready in this turn of the event loop share the first transaction.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.queue.length > 0 && !this.stopping.signal.aborted) {
      await this.commitPatiently(this.take());
      await faultPoint('batcher.after-complete');
    }
    // In the same turn as the look at the queue: what comes from now on starts anew.
    this.running = undefined;
  }

  private take(): Pending[] {
    let rows = 0;
    const length = this.queue.findIndex(({ unit }) => (rows += weightOf(unit)) > MAX_ROWS);
    return this.queue.splice(0, length === -1 ? this.queue.length : Math.max(1, length));
  }

  private async commitPatiently(group: Pending[]): Promise<void> {
    const { logger } = this.options;
    for (let tries = 0; ; tries++) {
      try {
        return await this.commitOnce(group);
      } catch (error) {
        if (!isTransient(error)) return this.isolate(group, error);
        if (this.stopping.signal.aborted) return this.rejectAll(group, error);
        const retryMs = backoffMs(tries, BACKOFF);
        logger.warn(
          { err: error, units: group.length, retry_ms: retryMs },
          'the database cannot commit now; trying again',
        );
        await sleep(retryMs, this.stopping.signal);
      }
    }
  }

  private async commitOnce(group: Pending[]): Promise<void> {
    const units = group.map(({ unit }) => unit);
    await faultPoint('batcher.before-commit');
    const startedAt = performance.now();
    const committed = await this.options.commit(units);
    this.batches += committed.batches.length;
    await faultPoint('batcher.after-commit');
    this.options.onCommitted(committed, units, (performance.now() - startedAt) / 1_000);
    for (const { resolve } of group) resolve();
  }

  private async isolate(group: Pending[], error: unknown): Promise<void> {
    if (group.length === 1) return this.rejectAll(group, error);
    const middle = Math.ceil(group.length / 2);
    await this.commitPatiently(group.slice(0, middle));
    await this.commitPatiently(group.slice(middle));
  }

  private rejectAll(group: readonly Pending[], error: unknown): void {
    for (const { reject } of group) reject(error);
  }
}
