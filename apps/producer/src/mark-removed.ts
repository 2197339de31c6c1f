import { MassRemovalError } from './producer.errors.js';
import { plus } from './registration/scan-counters.js';
import type { CurrentScan } from './registration/scans.repository.js';
import type { ScanParts } from './scan-parts.js';

const FILES_PER_TRANSACTION = 1_000;

/**
 * Marks removed what a complete scan did not see, unless that is too much to be believed: then it marks nothing and
 * throws MassRemovalError. May be cut off and repeated.
 */
export async function markRemoved(
  { config, rows, write }: Pick<ScanParts, 'config' | 'rows' | 'write'>,
  scan: CurrentScan,
  signal: AbortSignal,
): Promise<void> {
  const mode = config.SCAN_MODE;
  const scope = {
    rootId: scan.rootId,
    scanId: scan.id,
    folders: mode !== 'files',
    files: mode !== 'folders',
  };
  const { missing, known } = await write((tx) => rows.removals.counts(tx, scope));
  if (!config.ALLOW_MASS_REMOVAL && isTooMany(missing, known, config.MAX_REMOVAL_PERCENT))
    throw new MassRemovalError(missing, known, config.MAX_REMOVAL_PERCENT);
  if (scope.folders) await write((tx) => rows.removals.removeFolders(tx, scope));
  for (let removed = -1; removed !== 0;) {
    signal.throwIfAborted();
    removed = await write((tx) => rows.removals.removeFiles(tx, scope, FILES_PER_TRANSACTION));
    scan.counters = plus(scan.counters, { removed });
  }
}

export function isTooMany(missing: number, known: number, percent: number): boolean {
  return missing * 100 > known * percent;
}
