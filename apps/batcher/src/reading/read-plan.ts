// Handing a task to a thread costs about 70 µs, reading a tiny file about 30: several a task. Bounded in bytes, so that
// one task never keeps others waiting for long.
const MAX_FILES = 128;
const MAX_BYTES = 262_144;

const LIMIT_MS = 60_000;
// A thread counts a hundred times as fast even where the pattern is slow; a machine may be that overloaded, or a mount.
const SLOWEST_BYTES_A_MS = 32;

interface Sized {
  size: number;
  what: string;
}

/** How many of the waiting files the next task takes, when `slots` tasks may be started now. */
export function groupLength(waiting: readonly Sized[], slots: number): number {
  const share = Math.min(MAX_FILES, Math.ceil(waiting.length / Math.max(1, slots)));
  const what = waiting[0]?.what;
  let bytes = 0;
  let length = 0;
  for (const request of waiting) {
    bytes += request.size;
    if (length > 0 && (length === share || bytes > MAX_BYTES || request.what !== what)) break;
    length++;
  }
  return length;
}

/** Whether so much is enough for a task of its full size. */
export function fillsGroup(files: number, bytes: number): boolean {
  return files >= MAX_FILES || bytes >= MAX_BYTES;
}

/** How long a task may take before its file is given up for this time. */
export function readLimitMs(group: readonly { size: number }[]): number {
  return LIMIT_MS + Math.ceil(group.reduce((sum, { size }) => sum + size, 0) / SLOWEST_BYTES_A_MS);
}
