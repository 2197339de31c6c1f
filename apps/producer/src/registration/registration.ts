import type { FileEntry, FolderRef, ListingCounts, SubfolderEntry } from '#tree';

/** What one transaction writes of one folder. Folders end with `listed`, `unchanged` or `failed`, exactly once a scan. */
export type Registration =
  | {
      kind: 'listed';
      folder: FolderRef;
      identity: string;
      digest: string | null;
      files: readonly FileEntry[];
      subfolders: readonly SubfolderEntry[];
      counts: ListingCounts;
    }
  /** A part of a large folder; more follows. */
  | {
      kind: 'part';
      folder: FolderRef;
      files: readonly FileEntry[];
      subfolders: readonly SubfolderEntry[];
      counts: ListingCounts;
    }
  | { kind: 'unchanged'; folder: FolderRef; identity: string; digest: string; counts: ListingCounts }
  | { kind: 'failed'; folder: FolderRef; error: string };

export type WithRows = Registration & { kind: 'listed' | 'part' };

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

/** Rows that a registration writes, to keep transactions small. */
export function weightOf(registration: Registration): number {
  return hasRows(registration) ? 1 + registration.files.length + registration.subfolders.length : 1;
}

export function hasRows(registration: Registration): registration is WithRows {
  return registration.kind === 'listed' || registration.kind === 'part';
}
