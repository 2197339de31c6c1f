import { realpathSync, statSync, type BigIntStats } from 'node:fs';
import { faultCode, isInside, patiently, type FsPath, type SkipReason } from '#files';

export type LinkOutcome =
  { follow: 'file'; stat: BigIntStats } | { follow: 'folder' } | { follow: 'no'; reason: SkipReason };

/**
 * What becomes of a symbolic link when links are followed. Fails closed: only a target whose real path is inside the root, that
 * the scan does not reach by itself (it would be carried twice) and that does not lead back above the link, is followed.
 */
export function resolveLink(
  link: FsPath,
  root: Buffer,
  reaches: (realPath: Buffer, folder: boolean) => boolean,
): LinkOutcome {
  const path = Buffer.from(link);
  try {
    const target = patiently(() => realpathSync(path, { encoding: 'buffer' }));
    if (!isInside(root, target)) return notFollowed('symlink-outside-root');
    const stat = patiently(() => statSync(target, { bigint: true }));
    const folder = stat.isDirectory();
    if (!folder && !stat.isFile()) return notFollowed(specialReason(stat));
    if (folder && isInside(target, homeOf(path))) return notFollowed('symlink-loop');
    if (reaches(target, folder)) return notFollowed('symlink-alias');
    return folder ? { follow: 'folder' } : { follow: 'file', stat };
  } catch (error) {
    const code = faultCode(error);
    if (code === 'ELOOP') return notFollowed('symlink-loop');
    return notFollowed(code === 'ENOENT' ? 'symlink-broken' : 'unreadable');
  }
}

export function notFollowed(reason: SkipReason): LinkOutcome {
  return { follow: 'no', reason };
}

/** The real path of the folder that a link lies in. */
function homeOf(link: Buffer): Buffer {
  return realpathSync(link.subarray(0, link.lastIndexOf(0x2f)), { encoding: 'buffer' });
}

/** Why what is no file is registered but not carried. */
export function specialReason(stat: BigIntStats): SkipReason {
  // Became a folder or link since its name was read: the next scan sees it as what it is.
  if (stat.isDirectory() || stat.isSymbolicLink()) return 'unreadable';
  if (stat.isFIFO()) return 'fifo';
  return stat.isSocket() ? 'socket' : 'device';
}
