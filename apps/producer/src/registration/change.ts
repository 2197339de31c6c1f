import type { FileStatus } from '#database';
import { isOpenReason, isSameStat, SCAN_SKIP_REASONS, type FileStat, type SkipReason } from '#files';
import type { FileEntry } from '#tree';

/** What the database knows of a file that is seen again. */
export interface KnownFile extends FileStat {
  id: number;
  folderId: number;
  name: string;
  revision: number;
  status: FileStatus;
  skipReason: string | null;
  errorStatus: string | null;
  /** As the database gives it: 1 where it has no booleans. */
  removed: boolean | number;
}

type Change =
  | { kind: 'new'; status: FileStatus }
  /** Its content may be another: a new revision begins. */
  | { kind: 'changed'; status: FileStatus }
  /** The same content, but its row says something that is no longer so. `status` undefined keeps it. */
  | { kind: 'corrected'; status: FileStatus | undefined; skip: string | null; error: string | null }
  | { kind: 'unchanged' };

const OWN_REASONS: ReadonlySet<string> = new Set(SCAN_SKIP_REASONS);

/**
 * What a scan does about one entry. Size, both times to the nanosecond and the inode decide whether a file is what it
 * was; an entry that could not be looked at says nothing about its content.
 */
export function changeOf(known: KnownFile | undefined, seen: FileEntry): Change {
  if (!known) return { kind: 'new', status: seen.skip ? 'skipped' : 'pending' };
  if (seen.error !== null) return corrected(known, undefined, known.skipReason, seen.error);
  if (wantsAnotherLook(known, seen)) return { kind: 'changed', status: 'pending' };
  if (!isSameStat(known, seen)) return { kind: 'changed', status: seen.skip ? 'skipped' : 'pending' };
  const { status, skip } = reclassified(known, seen.skip);
  return corrected(known, status, skip, ownError(known) ? null : known.errorStatus);
}

/**
 * Whether the row tells of a later state than was seen: since the listing, a batcher has read the file and recorded what
 * it read. (Or the clock of the file system was set back; only another look can tell.)
 */
export function isBehind(known: KnownFile, seen: FileEntry): boolean {
  return BigInt(seen.ctimeNs) < BigInt(known.ctimeNs);
}

/** Skipped for a reason that the outside can undo, of which a stat tells nothing. A new revision, for its job was done. */
function wantsAnotherLook(known: KnownFile, seen: FileEntry): boolean {
  return seen.skip === null && known.status === 'skipped' && isOpenReason(known.skipReason);
}

/** The rules may have changed since: what was too large may be carried now, what waits may be too large. */
function reclassified(
  known: KnownFile,
  skip: SkipReason | null,
): { status: FileStatus | undefined; skip: string | null } {
  const ours = known.status === 'skipped' && OWN_REASONS.has(known.skipReason ?? '');
  if (ours && skip === null) return { status: 'pending', skip: null };
  if ((ours && skip !== known.skipReason) || (known.status === 'pending' && skip !== null))
    return { status: 'skipped', skip };
  return { status: undefined, skip: known.skipReason };
}

/** A file that fared well otherwise has its error from a scan that could not look at it. */
function ownError({ status, errorStatus }: KnownFile): boolean {
  return errorStatus !== null && status !== 'failed' && status !== 'skipped';
}

function corrected(
  known: KnownFile,
  status: FileStatus | undefined,
  skip: string | null,
  error: string | null,
): Change {
  const same =
    !known.removed && status === undefined && skip === known.skipReason && error === known.errorStatus;
  return same ? { kind: 'unchanged' } : { kind: 'corrected', status, skip, error };
}
