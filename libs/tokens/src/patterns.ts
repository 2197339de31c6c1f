import { classAt, EITHER_CASE, LETTER, LOWER, NEWLINE, NUMBER, UPPER, WIDTH_SHIFT } from './char-class.js';
import type { EncodingName } from './encoding.js';
import {
  contractionLength,
  horizon,
  isTrailer,
  numberEnd,
  runOf,
  SENTINEL,
  type Scanner,
  spaceEnd,
  symbolsEnd,
} from './scanner.js';

// One class a byte, ordered so that a single comparison answers: letters come first.
const LOWERCASE = 0;
const UPPERCASE = 1;
const DIGIT = 2;
const SYMBOL = 3;
const BLANK = 4;
const LINE_BREAK = 5;
/** Not ASCII. */
const BEYOND = 6;
/** A sentinel: the text ends here. */
const END = 7;

const ASCII = new Uint8Array(256).fill(SYMBOL).fill(BEYOND, 0x80);
ASCII[SENTINEL] = END;
ASCII.fill(LOWERCASE, 0x61, 0x7b);
ASCII.fill(UPPERCASE, 0x41, 0x5b);
ASCII.fill(DIGIT, 0x30, 0x3a);
for (const blank of [0x09, 0x0b, 0x0c, 0x20]) ASCII[blank] = BLANK;
for (const lineBreak of [0x0a, 0x0d]) ASCII[lineBreak] = LINE_BREAK;

// The ASCII halves of the pattern's alternatives. Each returns the piece's end, or 0 as soon as a byte beyond ASCII
// could change the answer. They run on a buffer closed by sentinels and so need no bound.

/** `\p{N}{1,3}`; there is a digit at `start`. */
function asciiNumberEnd(bytes: Uint8Array, start: number): number {
  let kind = ASCII[bytes[start + 1]!];
  if (kind !== DIGIT) return kind === BEYOND ? 0 : start + 1;
  kind = ASCII[bytes[start + 2]!];
  if (kind !== DIGIT) return kind === BEYOND ? 0 : start + 2;
  return start + 3;
}

/** `[^\s\p{L}\p{N}]+[\r\n/]*`; there is a symbol at `start`. */
function asciiSymbolsEnd(bytes: Uint8Array, start: number, slash: boolean): number {
  let at = start + 1;
  while (ASCII[bytes[at]!] === SYMBOL) at++;
  if (ASCII[bytes[at]!] === BEYOND) return 0;
  while (isTrailer(bytes[at]!, slash)) at++;
  return at;
}

/** `\s*[\r\n]+|\s+(?!\S)|\s+`; there is white space at `start`. */
function asciiSpaceEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  let afterNewline = 0;
  for (;;) {
    const kind = ASCII[bytes[at]!]!;
    if (kind === LINE_BREAK) afterNewline = at + 1;
    else if (kind !== BLANK) {
      if (kind === BEYOND) return 0;
      break;
    }
    at++;
  }
  if (afterNewline > 0) return afterNewline;
  return at - start === 1 || ASCII[bytes[at]!] === END ? at : at - 1;
}

const APOSTROPHE = 0x27;

/**
 * The pattern of o200k_base, with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}], 's = contraction:
 *
 *   [^\r\n\p{L}\p{N}]?U*L+('s)? | [^\r\n\p{L}\p{N}]?U+L*('s)? | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n/]* | white space
 */
const o200k: Scanner = { pieceEnd: o200kPieceEnd, asciiPieceEnd: o200kAsciiPieceEnd };

function o200kPieceEnd(bytes: Uint8Array, start: number, end: number): number {
  const limit = horizon(bytes, start, end);
  const first = classAt(bytes, start);
  const word = o200kWordEnd(bytes, start, first, limit);
  if (word > start) return word + contractionLength(bytes, word, limit);
  if ((first & NUMBER) !== 0) return numberEnd(bytes, start, limit);
  const symbols = symbolsEnd(bytes, start, limit, true);
  return symbols > start ? symbols : spaceEnd(bytes, start, limit);
}

// A mark can be the optional first character or part of the word: both are tried, in the pattern's order.
function o200kWordEnd(bytes: Uint8Array, start: number, first: number, limit: number): number {
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

function o200kAsciiPieceEnd(bytes: Uint8Array, start: number): number {
  const kind = ASCII[bytes[start]!]!;
  if (kind <= UPPERCASE) return o200kAsciiWordEnd(bytes, start);
  if (kind === DIGIT) return asciiNumberEnd(bytes, start);
  if (kind === BEYOND) return 0;
  const next = ASCII[bytes[start + 1]!]!;
  if (kind === SYMBOL) {
    return next <= UPPERCASE ? o200kAsciiWordEnd(bytes, start + 1) : asciiSymbolsEnd(bytes, start, true);
  }
  if (kind === BLANK) {
    if (next <= UPPERCASE) return o200kAsciiWordEnd(bytes, start + 1);
    if (next === BEYOND) return 0;
    if (next === SYMBOL && bytes[start] === 0x20) return asciiSymbolsEnd(bytes, start + 1, true);
  }
  return asciiSpaceEnd(bytes, start);
}

/** `U*L+('s)?|U+L*('s)?`; there is a letter at `start`. */
function o200kAsciiWordEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (ASCII[bytes[at]!] === UPPERCASE) at++;
  while (ASCII[bytes[at]!] === LOWERCASE) at++;
  if (ASCII[bytes[at]!] === BEYOND) return 0;
  return bytes[at] === APOSTROPHE ? at + contractionLength(bytes, at, at + 4) : at;
}

/**
 * The pattern of cl100k_base, 's = contraction:
 *
 *   's | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n]* | white space
 *
 * A later spelling of it takes white space up to the end of the text as one piece; no token ends in blanks after a line
 * break, so nothing merges across that point and the count is the same.
 */
const cl100k: Scanner = { pieceEnd: cl100kPieceEnd, asciiPieceEnd: cl100kAsciiPieceEnd };

function cl100kPieceEnd(bytes: Uint8Array, start: number, end: number): number {
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

function cl100kAsciiPieceEnd(bytes: Uint8Array, start: number): number {
  const kind = ASCII[bytes[start]!]!;
  if (kind <= UPPERCASE) return cl100kAsciiWordEnd(bytes, start);
  if (kind === DIGIT) return asciiNumberEnd(bytes, start);
  if (kind === BEYOND) return 0;
  const next = ASCII[bytes[start + 1]!]!;
  if (kind === SYMBOL) return cl100kAsciiSymbolEnd(bytes, start, next);
  if (kind === BLANK) {
    if (next <= UPPERCASE) return cl100kAsciiWordEnd(bytes, start + 1);
    if (next === BEYOND) return 0;
    if (next === SYMBOL && bytes[start] === 0x20) return asciiSymbolsEnd(bytes, start + 1, false);
  }
  return asciiSpaceEnd(bytes, start);
}

function cl100kAsciiSymbolEnd(bytes: Uint8Array, start: number, next: number): number {
  if (next > UPPERCASE) return asciiSymbolsEnd(bytes, start, false);
  const contraction = bytes[start] === APOSTROPHE ? contractionLength(bytes, start, start + 4) : 0;
  return contraction > 0 ? start + contraction : cl100kAsciiWordEnd(bytes, start + 1);
}

/** `\p{L}+`; there is a letter at `start`. */
function cl100kAsciiWordEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (ASCII[bytes[at]!]! <= UPPERCASE) at++;
  return ASCII[bytes[at]!] === BEYOND ? 0 : at;
}

export const SCANNERS: Readonly<Record<EncodingName, Scanner>> = { o200k_base: o200k, cl100k_base: cl100k };
