import {
  ASCII,
  BEYOND,
  BLANK,
  DIGIT,
  LOWERCASE,
  SYMBOL,
  UPPERCASE,
  asciiNumberEnd,
  asciiSpaceEnd,
  asciiSymbolsEnd,
} from './ascii-scan.js';
import { classAt, EITHER_CASE, LETTER, LOWER, NEWLINE, NUMBER, UPPER, WIDTH_SHIFT } from './char-class.js';
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
 * The pattern of o200k_base, with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}], 's = contraction:
 *
 *   [^\r\n\p{L}\p{N}]?U*L+('s)? | [^\r\n\p{L}\p{N}]?U+L*('s)? | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n/]* | white space
 */
export const o200k: Scanner = { pieceEnd, asciiPieceEnd };

const APOSTROPHE = 0x27;

function pieceEnd(bytes: Uint8Array, start: number, end: number): number {
  const limit = horizon(bytes, start, end);
  const first = classAt(bytes, start);
  const word = wordEnd(bytes, start, first, limit);
  if (word > start) return word + contractionLength(bytes, word, limit);
  if ((first & NUMBER) !== 0) return numberEnd(bytes, start, limit);
  const symbols = symbolsEnd(bytes, start, limit, true);
  return symbols > start ? symbols : spaceEnd(bytes, start, limit);
}

// A mark can be the optional first character or part of the word: both are tried, in the pattern's order.
function wordEnd(bytes: Uint8Array, start: number, first: number, limit: number): number {
  const prefixed = (first & (LETTER | NUMBER | NEWLINE)) === 0;
  const body = prefixed ? start + (first >> WIDTH_SHIFT) : start;
  const mixed = mixedEnd(bytes, body, limit);
  if (mixed > 0) return mixed;
  if (prefixed && (first & EITHER_CASE) !== 0) return mixedEnd(bytes, start, limit);
  const upper = runOf(UPPER, bytes, body, limit);
  return upper > body ? upper : start;
}

/** `U*L+`, or 0. Where no lower case follows, U* gives back as far as its last character that is also in L. */
function mixedEnd(bytes: Uint8Array, start: number, limit: number): number {
  let at = start;
  let afterEither = 0;
  while (at < limit) {
    const found = classAt(bytes, at);
    if ((found & UPPER) === 0) {
      return (found & LOWER) === 0 ? afterEither : runOf(LOWER, bytes, at, limit);
    }
    at += found >> WIDTH_SHIFT;
    if ((found & LOWER) !== 0) afterEither = at;
  }
  return afterEither;
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
  if (kind === SYMBOL) {
    return next <= UPPERCASE ? asciiWordEnd(bytes, start + 1) : asciiSymbolsEnd(bytes, start, true);
  }
  if (kind === BLANK) {
    if (next <= UPPERCASE) return asciiWordEnd(bytes, start + 1);
    if (next === BEYOND) return 0;
    if (next === SYMBOL && bytes[start] === 0x20) return asciiSymbolsEnd(bytes, start + 1, true);
  }
  return asciiSpaceEnd(bytes, start);
}

/** `U*L+('s)?|U+L*('s)?`; there is a letter at `start`. */
function asciiWordEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (ASCII[bytes[at]!] === UPPERCASE) at++;
  while (ASCII[bytes[at]!] === LOWERCASE) at++;
  if (ASCII[bytes[at]!] === BEYOND) return 0;
  return bytes[at] === APOSTROPHE ? at + contractionLength(bytes, at, at + 4) : at;
}
