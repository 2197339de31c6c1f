import type { ScanOutcome } from '#database';
import { MassRemovalError } from './producer.errors.js';
import { plus } from './registration/scan-counters.js';
import type { Scan } from './scan.js';

const FILES_PER_TRANSACTION = 1_000;

/**
 * Marks removed what a complete scan did not see, unless that is too much to be believed: then it marks nothing and
 * throws MassRemovalError. May be cut off and repeated. A scan in which work items failed has not seen everything: it is
 * left interrupted, and nothing is gone.
 */
export async function markRemoved({ parts, row, pool, signal }: Scan): Promise<ScanOutcome> {
  if (pool.metrics().failed > 0) return 'interrupted';
  const { config, rows, write } = parts;
  const scope = {
    ...{ rootId: row.rootId, scanId: row.id },
    ...{ folders: config.SCAN_MODE !== 'files', files: config.SCAN_MODE !== 'folders' },
  };
  const { missing, known } = await write((tx) => rows.files.countMissing(tx, scope));
  if (!config.ALLOW_MASS_REMOVAL && isTooMany(missing, known, config.MAX_REMOVAL_PERCENT))
    throw new MassRemovalError(missing, known, config.MAX_REMOVAL_PERCENT);
  if (scope.folders) await write((tx) => rows.folders.removeGone(tx, scope));
  for (let removed = -1; removed !== 0;) {
    signal.throwIfAborted();
    removed = await write((tx) => rows.files.removeMissing(tx, scope, FILES_PER_TRANSACTION));
    row.counters = plus(row.counters, { removed });
  }
  return 'completed';
}

export function isTooMany(missing: number, known: number, percent: number): boolean {
  return missing * 100 > known * percent;
}
