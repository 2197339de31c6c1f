import { isTransient } from '#database';
import { backoffMs, Coalescer, faultPoint, sleep, within, type Logger } from '#service';
import { BatcherStoppedError } from '../batcher.errors.js';
import { weightOf, type Committed, type CommitUnit } from './commit-unit.js';

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
 * Commits units in groups. While the database is away it holds on and tries again; the jobs wait with it. A unit that the
 * database refuses is found and rejected alone.
 */
export class Committer {
  private readonly stopping = new AbortController();
  private readonly units = new Coalescer<CommitUnit, Committed>({
    work: (units) => this.commitPatiently(units),
    weigh: weightOf,
    limit: MAX_ROWS,
    blames: (error) => !isTransient(error),
  });
  private batches = 0;

  constructor(private readonly options: CommitterOptions) {}

  /** Resolves when the unit is committed, or was found to be decided already, with what its transaction came to. */
  async commit(unit: CommitUnit): Promise<Committed> {
    if (this.stopping.signal.aborted) throw new BatcherStoppedError();
    const committed = await this.units.add(unit);
    await faultPoint('batcher.after-complete');
    return committed;
  }

  /** Lets the transaction in progress end, if it does so soon, and gives up the rest. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.units.abandon(new BatcherStoppedError());
    await within(STOP_MS, this.units.drained(), () => {});
    this.options.logger.info({ batches: this.batches }, 'batches committed in total');
  }

  private async commitPatiently(units: readonly CommitUnit[]): Promise<Committed[]> {
    for (let tries = 0; ; tries++) {
      try {
        const committed = await this.commitOnce(units);
        return units.map(() => committed);
      } catch (error) {
        if (!isTransient(error) || this.stopping.signal.aborted) throw error;
        const retryMs = backoffMs(tries, BACKOFF);
        this.options.logger.warn(
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
    const committed = await this.options.commit(units);
    this.batches += committed.batches.length;
    await faultPoint('batcher.after-commit');
    this.options.onCommitted(committed, units, (performance.now() - startedAt) / 1_000);
    return committed;
  }
}
