import {
  ASCII,
  BEYOND,
  BLANK,
  DIGIT,
  SYMBOL,
  UPPERCASE,
  asciiNumberEnd,
  asciiSpaceEnd,
  asciiSymbolsEnd,
} from './ascii-scan.js';
import { classAt, LETTER, NEWLINE, NUMBER, WIDTH_SHIFT } from './char-class.js';
import {
  contractionLength,
  horizon,
  MAX_PIECE_BYTES,
  numberEnd,
  runOf,
  type Scanner,
  spaceEnd,
  symbolsEnd,
} from './scanner.js';

/**
 * The pattern of cl100k_base, 's = contraction:
 *
 *   's | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n]* | white space
 *
 * A later spelling of it takes white space up to the end of the text as one piece; no token ends in blanks after a line
 * break, so nothing merges across that point and the count is the same.
 */
export const cl100k: Scanner = { pieceEnd, asciiPieceEnd };

const APOSTROPHE = 0x27;

function pieceEnd(bytes: Uint8Array, start: number, end: number): number {
  const limit = horizon(bytes, start, end);
  const contraction = contractionLength(bytes, start, limit);
  if (contraction > 0) return start + contraction;
  const first = classAt(bytes, start);
  const prefixed = (first & (LETTER | NUMBER | NEWLINE)) === 0;
  const body = prefixed ? start + (first >> WIDTH_SHIFT) : start;
  const word = runOf(LETTER, bytes, body, limit);
  if (word > body) return word;
  if ((first & NUMBER) !== 0) return numberEnd(bytes, start, limit);
  const symbols = symbolsEnd(bytes, start, limit, false);
  return symbols > start ? symbols : spaceEnd(bytes, start, limit);
}

function asciiPieceEnd(bytes: Uint8Array, start: number): number {
  const end = asciiEnd(bytes, start);
  // Within sight of the horizon, the rule that knows it decides.
  return end - start < MAX_PIECE_BYTES - 4 ? end : 0;
}

function asciiEnd(bytes: Uint8Array, start: number): number {
  const kind = ASCII[bytes[start]!]!;
  if (kind <= UPPERCASE) return asciiWordEnd(bytes, start);
  if (kind === DIGIT) return asciiNumberEnd(bytes, start);
  if (kind === BEYOND) return 0;
  const next = ASCII[bytes[start + 1]!]!;
  if (kind === SYMBOL) return asciiSymbolEnd(bytes, start, next);
  if (kind === BLANK) {
    if (next <= UPPERCASE) return asciiWordEnd(bytes, start + 1);
    if (next === BEYOND) return 0;
    if (next === SYMBOL && bytes[start] === 0x20) return asciiSymbolsEnd(bytes, start + 1, false);
  }
  return asciiSpaceEnd(bytes, start);
}

function asciiSymbolEnd(bytes: Uint8Array, start: number, next: number): number {
  if (next > UPPERCASE) return asciiSymbolsEnd(bytes, start, false);
  const contraction = bytes[start] === APOSTROPHE ? contractionLength(bytes, start, start + 4) : 0;
  return contraction > 0 ? start + contraction : asciiWordEnd(bytes, start + 1);
}

/** `\p{L}+`; there is a letter at `start`. */
function asciiWordEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (ASCII[bytes[at]!]! <= UPPERCASE) at++;
  return ASCII[bytes[at]!] === BEYOND ? 0 : at;
}
