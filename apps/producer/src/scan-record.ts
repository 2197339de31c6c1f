import type { EntityManager, ScanOutcome } from '#database';
import { pathKey, pathText } from '#files';
import { tellDone } from '#service';
import type { QueueableFile } from './registration/registration.js';
import type { ScanCounters } from './registration/scan-counters.js';
import type { CurrentScan } from './registration/scans.repository.js';
import { rulesText } from './root.js';
import type { ScanParts } from './scan-parts.js';

/** The row of a scan: how it begins or is continued, what it has counted, how it ended. */
export class ScanRecord {
  private readonly before: ScanCounters;
  private told: ScanCounters;

  private constructor(
    private readonly parts: ScanParts,
    readonly scan: CurrentScan,
  ) {
    this.before = this.told = scan.counters;
  }

  static async begin(parts: ScanParts): Promise<ScanRecord> {
    const { config, root, lease, workerId, clock, rows, write, logger } = parts;
    const terms = {
      ...{ root, workerId, fence: lease.fence, mode: config.SCAN_MODE, rules: rulesText(parts.rules) },
      ...{ resumeWithinMs: config.RESUME_WITHIN_MS, now: clock.now() },
    };
    const scan = await write(async (tx) => {
      const current = await rows.scans.begin(tx, terms);
      if (!current.resumed) await seeRoot(tx, parts, current, terms.now);
      await rows.files.forgetAway(tx, current.rootId);
      return current;
    });
    const { id, resumed } = scan;
    logger.info({ scan_id: id, resumed }, resumed ? `scan ${id} continues` : `scan ${id} begins`);
    return new ScanRecord(parts, scan);
  }

  /** Of the files, folders or hashed bytes, those that this run looked at. */
  thisRun(counter: 'files' | 'folders' | 'hashedBytes'): number {
    return this.scan.counters[counter] - this.before[counter];
  }

  /** Tells whoever started this process what was registered since the last time. */
  tell(files: readonly QueueableFile[]): void {
    const { counters } = this.scan;
    const createdBytes = files.reduce((sum, { revision, size }) => sum + (revision === 1 ? size : 0), 0);
    const created = counters.created - this.told.created;
    tellDone({ created, createdBytes, changed: counters.changed - this.told.changed });
    this.told = counters;
  }

  async finish(outcome: ScanOutcome): Promise<void> {
    const { rows, write } = this.parts;
    await write(async (tx) => {
      const open = await rows.files.countOpenSkips(tx, this.scan.rootId);
      this.scan.counters = { ...this.scan.counters, open };
      await this.end(tx, outcome, null);
    });
  }

  /** The rows themselves are the checkpoint; the note about it may be missing. */
  async checkpoint(outcome: ScanOutcome, error: string | null): Promise<void> {
    const { write, logger } = this.parts;
    try {
      await write((tx) => this.end(tx, outcome, error));
    } catch (cause) {
      logger.warn({ err: cause }, 'the outcome of the scan could not be recorded');
    }
  }

  private async end(tx: EntityManager, outcome: ScanOutcome, error: string | null): Promise<void> {
    const { rows, clock, rules } = this.parts;
    const { id, counters } = this.scan;
    await rows.scans.saveProgress(tx, id, counters, { at: clock.now(), rules: rulesText(rules) });
    await rows.scans.end(tx, id, outcome, clock.now(), error);
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
