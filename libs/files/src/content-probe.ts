import { isUtf8 } from 'node:buffer';

/** How much of a file's start is looked at. */
export const PROBE_BYTES = 8_192;

// Latin-1 prose has an accented letter in ten bytes at most and is still worth reading with U+FFFD in its place; text in
// another alphabet's 8-bit encoding, or compressed data, is mostly ill-formed.
const MAX_INVALID_RATIO = 0.25;
const LONGEST_CHARACTER = 4;

/**
 * Whether a file that starts so is binary: it holds a NUL, or more than a quarter of it is no UTF-8. (UTF-16 has NULs and
 * is binary by this rule.) A few ill-formed bytes do not make a text binary: they are counted as U+FFFD.
 */
export function isBinary(start: Buffer): boolean {
  const probe = start.subarray(0, PROBE_BYTES);
  if (probe.includes(0)) return true;
  if (isUtf8(probe)) return false;
  // The probe may end inside a character; that is not the file's fault.
  const torn = probe.length < start.length || probe.length === PROBE_BYTES ? LONGEST_CHARACTER - 1 : 0;
  return illFormed(probe) - torn > probe.length * MAX_INVALID_RATIO;
}

function illFormed(bytes: Buffer): number {
  let count = 0;
  for (const character of bytes.toString('utf8')) if (character === '\uFFFD') count++;
  return count;
}
