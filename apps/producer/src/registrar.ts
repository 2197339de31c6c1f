import { Coalescer, faultPoint, tellDone } from '#service';
import { registerBatch } from './registration/register-batch.js';
import { weightOf, type QueueableFile, type Registration } from './registration/registration.js';
import { rulesText } from './root.js';
import type { Scan } from './scan.js';

const MAX_ROWS = 1_000;
const GATHER_MS = 15;

/**
 * The one writer of a scan: each transaction takes at most 1,000 rows. What is added settles with its commit. The first
 * error ends the scan: everything after is refused with that error.
 */
export class Registrar {
  private failure: { error: unknown } | undefined;
  private readonly writer = new Coalescer<Registration, void>({
    work: (batch) => this.commit(batch),
    weigh: weightOf,
    limit: MAX_ROWS,
    // Folders that are what they were are one row each: without the wait, a rescan had 76 transactions instead of 30.
    gatherMs: GATHER_MS,
    blames: () => false,
  });

  constructor(private readonly scan: Scan) {}

  /** After a stop nothing is written any more; the next run lists it again. */
  add(registration: Registration): Promise<void> {
    return this.writer.add(registration);
  }

  private async commit(batch: readonly Registration[]): Promise<void> {
    const { scan } = this;
    if (this.failure) throw this.failure.error;
    if (scan.signal.aborted) return;
    try {
      const files = await this.write(batch);
      await faultPoint('producer.after-register');
      await scan.enqueuer.add(files);
    } catch (error) {
      if (scan.signal.aborted) return;
      this.failure = { error };
      scan.fail(error);
      throw error;
    }
  }

  /** The files that want a job. */
  private async write(batch: readonly Registration[]): Promise<QueueableFile[]> {
    const { parts, row } = this.scan;
    const mark = this.scan.mark();
    const before = row.counters;
    const { queueable, counters } = await parts.write(async (tx) => {
      const context = { mark, counters: before, mode: parts.config.SCAN_MODE };
      const outcome = await registerBatch(tx, parts.rows, batch, context);
      const checkpoint = { at: mark.now, rules: rulesText(parts.rules) };
      await parts.rows.scans.save(tx, row.id, { counters: outcome.counters, checkpoint });
      return outcome;
    });
    row.counters = counters;
    const createdBytes = queueable.reduce((sum, { revision, size }) => sum + (revision === 1 ? size : 0), 0);
    const created = counters.created - before.created;
    tellDone({ created, createdBytes, changed: counters.changed - before.changed });
    return queueable;
  }
}
