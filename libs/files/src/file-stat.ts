import type { BigIntStats } from 'node:fs';

/**
 * What a listing tells of a file without opening it. A difference only asks for a look at its content. Text where a number
 * would not hold it exactly. The device is no part of it: a mount has another number each time.
 */
export interface FileStat {
  size: number;
  mtimeNs: string;
  ctimeNs: string;
  inode: string;
}

export function fileStat({ size, mtimeNs, ctimeNs, ino }: BigIntStats): FileStat {
  return { size: Number(size), mtimeNs: String(mtimeNs), ctimeNs: String(ctimeNs), inode: String(ino) };
}

/** `device:inode`: which folder or file it is, whatever its name, while its file system stays mounted. */
export function identityText({ dev, ino }: { dev: bigint; ino: bigint }): string {
  return `${dev}:${ino}`;
}

/** Where a folder was on one device and is on another now. */
export function isOnAnotherDevice(before: string | null, now: string): boolean {
  return before !== null && before.split(':')[0] !== now.split(':')[0];
}

export function isSameStat(one: FileStat, other: FileStat): boolean {
  return (
    one.size === other.size &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs &&
    one.inode === other.inode
  );
}
