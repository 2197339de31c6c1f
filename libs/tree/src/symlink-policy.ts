import { realpathSync, statSync, type BigIntStats } from 'node:fs';
import { faultCode, isInside, patiently, type FsPath, type SkipReason } from '#files';

export type LinkOutcome =
  { follow: 'file'; stat: BigIntStats } | { follow: 'folder' } | { follow: 'no'; reason: SkipReason };

interface LinkRules {
  root: Buffer;
  followSymlinks: boolean;
  /** Whether the scan reaches this real path by itself, so that following the link would carry it twice. */
  reachedAnyway: (realPath: Buffer, folder: boolean) => boolean;
}

/**
 * What becomes of a symbolic link. Fails closed: only a target whose real path is inside the root, that is not reached
 * on its own and does not lead back above the link, is followed.
 */
export function resolveLink(link: FsPath, rules: LinkRules): LinkOutcome {
  if (!rules.followSymlinks) return { follow: 'no', reason: 'symlink' };
  const path = Buffer.from(link);
  try {
    const target = patiently(() => realpathSync(path, { encoding: 'buffer' }));
    if (!isInside(rules.root, target)) return { follow: 'no', reason: 'symlink-outside-root' };
    return targetOutcome(path, target, rules);
  } catch (error) {
    const code = faultCode(error);
    if (code === 'ELOOP') return { follow: 'no', reason: 'symlink-loop' };
    return { follow: 'no', reason: code === 'ENOENT' ? 'symlink-broken' : 'unreadable' };
  }
}

function targetOutcome(path: Buffer, target: Buffer, rules: LinkRules): LinkOutcome {
  const stat = patiently(() => statSync(target, { bigint: true }));
  if (stat.isDirectory()) return folderOutcome(path, target, rules);
  if (!stat.isFile()) return { follow: 'no', reason: specialReason(stat) };
  return rules.reachedAnyway(target, false)
    ? { follow: 'no', reason: 'symlink-alias' }
    : { follow: 'file', stat };
}

function folderOutcome(path: Buffer, target: Buffer, rules: LinkRules): LinkOutcome {
  const home = realpathSync(path.subarray(0, path.lastIndexOf(0x2f)), { encoding: 'buffer' });
  if (isInside(target, home)) return { follow: 'no', reason: 'symlink-loop' };
  return rules.reachedAnyway(target, true) ? { follow: 'no', reason: 'symlink-alias' } : { follow: 'folder' };
}

export function specialReason(stat: BigIntStats): SkipReason {
  if (stat.isFIFO()) return 'fifo';
  return stat.isSocket() ? 'socket' : 'device';
}
