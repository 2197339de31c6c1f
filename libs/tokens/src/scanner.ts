import { classAt, LETTER, NEWLINE, NUMBER, SPACE, WIDTH_SHIFT } from './char-class.js';

/**
 * The cut rule. A piece is what the encoding's pattern matches at its start, seeing no more than this many bytes ahead
 * (down to a character's edge, CR LF kept together), as if the text ended there. Shorter runs count exactly as the pattern says; a longer run
 * is cut into pieces of this size, which adds about a token a cut. It depends on the piece's start alone, so streaming
 * and whole-text counting agree, and the work is linear. 8192, because a merge packs the offset into 13 bits.
 */
export const MAX_PIECE_BYTES = 8192;

/** Follows the text in a scanned buffer; no byte of UTF-8 has this value. */
export const SENTINEL = 0xff;
/** How many sentinels: scanning and key building may read that far past the end of the text. */
export const SENTINELS = 16;

/** Splits text into pieces by the pattern of one encoding. Bytes are well-formed UTF-8. */
export interface Scanner {
  /** The end of the piece that starts at `start` in a text ending at `end`. */
  pieceEnd(bytes: Uint8Array, start: number, end: number): number;
  /**
   * The same for a piece of ASCII in a buffer closed by sentinels, however long; 0 when more than ASCII is at stake, so
   * that `pieceEnd` must answer.
   */
  asciiPieceEnd(bytes: Uint8Array, start: number): number;
}

/** Where sight ends for a piece that starts at `start`. */
export function horizon(bytes: Uint8Array, start: number, end: number): number {
  let limit = start + MAX_PIECE_BYTES;
  if (limit >= end) return end;
  while ((bytes[limit]! & 0xc0) === 0x80) limit--;
  return bytes[limit - 1] === 0x0d && bytes[limit] === 0x0a ? limit - 1 : limit;
}

/** The end of the run of characters that have one of `flags`. */
export function runOf(flags: number, bytes: Uint8Array, start: number, limit: number): number {
  let at = start;
  while (at < limit) {
    const found = classAt(bytes, at);
    if ((found & flags) === 0) break;
    at += found >> WIDTH_SHIFT;
  }
  return at;
}

/** `\p{N}{1,3}`, or `start` if there is no number. */
export function numberEnd(bytes: Uint8Array, start: number, limit: number): number {
  let at = start;
  for (let digits = 0; digits < 3 && at < limit; digits++) {
    const found = classAt(bytes, at);
    if ((found & NUMBER) === 0) break;
    at += found >> WIDTH_SHIFT;
  }
  return at;
}

/** ` ?[^\s\p{L}\p{N}]+[\r\n]*`, with `/` among the trailers if `slash`; or `start`. */
export function symbolsEnd(bytes: Uint8Array, start: number, limit: number, slash: boolean): number {
  const first = bytes[start] === 0x20 ? start + 1 : start;
  let at = first;
  while (at < limit) {
    const found = classAt(bytes, at);
    if ((found & (SPACE | LETTER | NUMBER)) !== 0) break;
    at += found >> WIDTH_SHIFT;
  }
  if (at === first) return start;
  while (at < limit && isTrailer(bytes[at]!, slash)) at++;
  return at;
}

export function isTrailer(byte: number, slash: boolean): boolean {
  return byte === 0x0a || byte === 0x0d || (slash && byte === 0x2f);
}

/** `\s*[\r\n]+|\s+(?!\S)|\s+`; there is white space at `start`. */
export function spaceEnd(bytes: Uint8Array, start: number, limit: number): number {
  let at = start;
  let beforeLast = start;
  let afterNewline = 0;
  while (at < limit) {
    const found = classAt(bytes, at);
    if ((found & SPACE) === 0) break;
    beforeLast = at;
    at += found >> WIDTH_SHIFT;
    if ((found & NEWLINE) !== 0) afterNewline = at;
  }
  if (afterNewline > 0) return afterNewline;
  return at === limit || beforeLast === start ? at : beforeLast;
}

/** The length of `'(?i:[sdmt]|ll|ve|re)` at `start`, or 0. */
export function contractionLength(bytes: Uint8Array, start: number, limit: number): number {
  if (bytes[start] !== 0x27 || start + 1 >= limit) return 0;
  // Setting bit 5 makes ASCII capitals small, and makes nothing else a letter.
  switch (bytes[start + 1]! | 0x20) {
    case 0x73: // s
    case 0x64: // d
    case 0x6d: // m
    case 0x74: // t
      return 2;
    case 0x6c: // ll
      return endsWith(bytes, start, limit, 0x6c);
    case 0x76: // ve
    case 0x72: // re
      return endsWith(bytes, start, limit, 0x65);
    default:
      // ſ (U+017F) is an s to a pattern that ignores case.
      return bytes[start + 1] === 0xc5 && start + 2 < limit && bytes[start + 2] === 0xbf ? 3 : 0;
  }
}

function endsWith(bytes: Uint8Array, start: number, limit: number, letter: number): number {
  return start + 2 < limit && (bytes[start + 2]! | 0x20) === letter ? 3 : 0;
}
