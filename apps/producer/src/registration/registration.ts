import { OPEN_SKIP_REASONS } from '#files';
import type { FolderListing, FolderRef } from '#tree';
import type { ListingPart } from '../scan.thread.js';

/** Files that were skipped for a reason that the outside can undo. The condition of the index `files_open_skips`. */
export const OPEN_SKIPS = `status = 'skipped' AND removed = 0
  AND skip_reason IN (${OPEN_SKIP_REASONS.map((reason) => `'${reason}'`).join(', ')})`;

/** Which scan writes, for which root, and when it says it did. */
export interface ScanMark {
  scanId: number;
  rootId: number;
  now: number;
}

/** What one transaction writes of one folder. Folders end with another state than `part`, exactly once a scan. */
export type Registration = { folder: FolderRef } & (FolderListing | ListingPart);

export type WithRows = Registration & { state: 'listed' | 'part' };

/** A file that wants a job. */
export interface QueueableFile {
  id: number;
  revision: number;
  path: string;
  pathBytes: string | null;
  size: number;
  ctimeNs: string;
  /** The job that it shares with others, as its row tells; null: one of its own. */
  jobId: string | null;
}

/** Rows that a registration may insert, to keep transactions small; one that inserts none counts for its folder's own. */
export function weightOf(registration: Registration): number {
  return hasRows(registration) ? Math.max(1, registration.files.length + registration.subfolders.length) : 1;
}

export function hasRows(registration: Registration): registration is WithRows {
  return registration.state === 'listed' || registration.state === 'part';
}
