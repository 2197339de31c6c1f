import type { FileStat, SkipReason } from '#files';

/** What the threads are told about a scan. Plain values: it is copied to every thread. */
export interface ListingRules {
  /** The root's real path, base64 of its bytes. */
  root: string;
  mode: 'all' | 'files' | 'folders';
  include: readonly string[];
  exclude: readonly string[];
  maxFileBytes: number;
  hidden: boolean;
  gitignore: boolean;
  followSymlinks: boolean;
  /** `device:inode` of our own data and output: folders never entered, files never registered. */
  excludedIdentities: readonly string[];
  /** Their real paths, a character a byte: what is made while the scan runs has no identity yet. */
  excludedPaths: readonly string[];
}

/** A folder as the frontier hands it out. */
export interface FolderRef {
  id: number;
  path: string;
  pathBytes: string | null;
  depth: number;
  identity: string | null;
  /** 0: never listed, so no row of its files exists yet. */
  listedScanId: number;
  digest: string | null;
}

/** Why an entry is neither registered nor entered; only counted. */
export type LeaveOutReason = 'hidden' | 'excluded' | 'not-included' | 'ignored' | 'own-data' | 'vanished';

/** One entry that gets a row in `files`. */
export interface FileEntry extends FileStat {
  /** Unique within its folder, in any encoding. */
  name: string;
  path: string;
  pathBytes: string | null;
  skip: SkipReason | null;
  /** The error number when the entry itself could not be looked at. */
  error: string | null;
}

export interface SubfolderEntry {
  path: string;
  pathBytes: string | null;
  key: string;
}

/** What a listing counts, whether or not a row is written for it. */
export interface ListingCounts {
  files: number;
  bytes: number;
  leftOut: Partial<Record<LeaveOutReason, number>>;
  skipped: Partial<Record<SkipReason, number>>;
}

/** A slice of a folder. */
export interface ListingChunk {
  files: FileEntry[];
  subfolders: SubfolderEntry[];
  counts: ListingCounts;
}

export type FolderListing =
  /** All of it, or the end of one whose chunks came before. */
  | ({ state: 'listed'; identity: string; digest: string } & ListingChunk)
  /** The same as at the last scan, so nothing of it is repeated. */
  | { state: 'unchanged'; identity: string; digest: string; counts: ListingCounts }
  | { state: 'failed'; error: string; message: string };

export function emptyChunk(): ListingChunk {
  return { files: [], subfolders: [], counts: { files: 0, bytes: 0, leftOut: {}, skipped: {} } };
}

export function addCounts(to: ListingCounts, from: ListingCounts): void {
  to.files += from.files;
  to.bytes += from.bytes;
  addReasons(to.leftOut, from.leftOut);
  addReasons(to.skipped, from.skipped);
}

export function addReasons<R extends string>(
  to: Partial<Record<R, number>>,
  from: Partial<Record<R, number>>,
): void {
  for (const reason of Object.keys(from) as R[]) to[reason] = (to[reason] ?? 0) + (from[reason] ?? 0);
}
