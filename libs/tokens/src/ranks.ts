/** Token bytes in order of rank: token r is `bytes[offsets[r] .. offsets[r + 1]]`. */
export interface Ranks {
  bytes: Uint8Array;
  offsets: Int32Array;
  longest: number;
}

const NEWLINE = 10;
const SPACE = 32;
const PADDING = 61;

const SEXTETS = new Uint8Array(256);
for (const [value, char] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  SEXTETS[char.charCodeAt(0)] = value;
}

/**
 * Reads a `.tiktoken` file: a line a token, its bytes in base64, a space, its rank; ranks count up from 0.
 * Decodes by hand into one array: a Buffer a token would cost 200,000 objects at every thread start.
 */
export function readRanks(file: Uint8Array): Ranks {
  const bytes = new Uint8Array(file.length);
  const offsets: number[] = [0];
  let longest = 0;
  let written = 0;
  for (let at = 0; at < file.length;) {
    const start = written;
    const space = file.indexOf(SPACE, at);
    written = decodeBase64(file, at, space, bytes, written);
    const { value, next } = readNumber(file, space + 1);
    if (space < 0 || value !== offsets.length - 1) throw new Error(`rank ${offsets.length - 1} is missing`);
    offsets.push(written);
    longest = Math.max(longest, written - start);
    at = next;
  }
  return { bytes: bytes.slice(0, written), offsets: Int32Array.from(offsets), longest };
}

function decodeBase64(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  let bits = 0;
  let held = 0;
  for (let i = start; i < end && from[i] !== PADDING; i++) {
    held = (held << 6) | SEXTETS[from[i]!]!;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      to[at++] = held >> bits;
      held &= (1 << bits) - 1;
    }
  }
  return at;
}

function readNumber(file: Uint8Array, start: number): { value: number; next: number } {
  let value = 0;
  let at = start;
  while (at < file.length && file[at] !== NEWLINE) value = value * 10 + file[at++]! - 48;
  return { value, next: at + 1 };
}
