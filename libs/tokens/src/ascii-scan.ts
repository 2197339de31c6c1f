import { ASCII, BEYOND, BLANK, DIGIT, LINE_BREAK, SYMBOL } from './ascii-class.js';
import { isTrailer } from './scanner.js';

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
