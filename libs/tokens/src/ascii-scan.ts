import { isTrailer } from './scanner.js';

// One class a byte, ordered so that a single comparison answers: letters come first.
export const LOWERCASE = 0;
export const UPPERCASE = 1;
export const DIGIT = 2;
export const SYMBOL = 3;
export const BLANK = 4;
export const LINE_BREAK = 5;
/** Not ASCII, or a sentinel. */
export const BEYOND = 6;

export const ASCII = new Uint8Array(256).fill(SYMBOL).fill(BEYOND, 0x80);
ASCII.fill(LOWERCASE, 0x61, 0x7b);
ASCII.fill(UPPERCASE, 0x41, 0x5b);
ASCII.fill(DIGIT, 0x30, 0x3a);
for (const blank of [0x09, 0x0b, 0x0c, 0x20]) ASCII[blank] = BLANK;
for (const lineBreak of [0x0a, 0x0d]) ASCII[lineBreak] = LINE_BREAK;

// The ASCII halves of the pattern's alternatives. Each returns the piece's end, or 0 as soon as a byte beyond ASCII
// could change the answer. They run on a buffer closed by sentinels and so need no bound.

/** `\p{N}{1,3}`; there is a digit at `start`. */
export function asciiNumberEnd(bytes: Uint8Array, start: number): number {
  let kind = ASCII[bytes[start + 1]!];
  if (kind !== DIGIT) return kind === BEYOND ? 0 : start + 1;
  kind = ASCII[bytes[start + 2]!];
  if (kind !== DIGIT) return kind === BEYOND ? 0 : start + 2;
  return start + 3;
}

/** `[^\s\p{L}\p{N}]+[\r\n/]*`; there is a symbol at `start`. */
export function asciiSymbolsEnd(bytes: Uint8Array, start: number, slash: boolean): number {
  let at = start + 1;
  while (ASCII[bytes[at]!] === SYMBOL) at++;
  if (ASCII[bytes[at]!] === BEYOND) return 0;
  while (isTrailer(bytes[at]!, slash)) at++;
  return at;
}

/** `\s*[\r\n]+|\s+(?!\S)|\s+`; there is white space at `start`. */
export function asciiSpaceEnd(bytes: Uint8Array, start: number): number {
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
  return at - start === 1 ? at : at - 1;
}
