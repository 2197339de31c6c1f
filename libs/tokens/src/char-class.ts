/**
 * What the patterns ask about a character, as flags. `UPPER` and `LOWER` are o200k's two letter sets, which share
 * modifier letters, other letters and marks; marks are not `LETTER`.
 */
export const UPPER = 1;
export const LOWER = 2;
export const LETTER = 4;
export const NUMBER = 8;
export const SPACE = 16;
export const NEWLINE = 32;
export const EITHER_CASE = UPPER | LOWER;

/** A class value is the flags, and above them the character's length in UTF-8. */
export const WIDTH_SHIFT = 8;

const SETS: readonly (readonly [number, RegExp])[] = [
  [UPPER, /[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]/u],
  [LOWER, /[\p{Ll}\p{Lm}\p{Lo}\p{M}]/u],
  [LETTER, /\p{L}/u],
  [NUMBER, /\p{N}/u],
  // Not \s: JavaScript's adds U+FEFF and lacks U+0085; the encodings are defined with Unicode's White_Space.
  [SPACE, /\p{White_Space}/u],
  [NEWLINE, /[\r\n]/],
];

const PAGE_BITS = 8;
const PAGE_SIZE = 1 << PAGE_BITS;
const pages: (Uint16Array | undefined)[] = new Array<undefined>(0x110000 >> PAGE_BITS).fill(undefined);

/** Classes of the ASCII characters, by byte. */
const ASCII_CLASSES: Uint16Array = classesOf(0, 128);

/** The class of the character that starts at `at`. The bytes must be well-formed UTF-8. */
export function classAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return ASCII_CLASSES[first]!;
  const code = codePointAt(bytes, at, first);
  const page = pages[code >> PAGE_BITS] ?? loadPage(code >> PAGE_BITS);
  return page[code & (PAGE_SIZE - 1)]!;
}

function codePointAt(bytes: Uint8Array, at: number, first: number): number {
  const second = bytes[at + 1]! & 0x3f;
  if (first < 0xe0) return ((first & 0x1f) << 6) | second;
  const third = bytes[at + 2]! & 0x3f;
  if (first < 0xf0) return ((first & 0x0f) << 12) | (second << 6) | third;
  return ((first & 0x07) << 18) | (second << 12) | (third << 6) | (bytes[at + 3]! & 0x3f);
}

// Asked of the engine page by page when first met: a start-up pays nothing for scripts it never sees,
// and the classes are those of the Unicode version this Node was built with.
function loadPage(index: number): Uint16Array {
  return (pages[index] = classesOf(index << PAGE_BITS, PAGE_SIZE));
}

function classesOf(from: number, count: number): Uint16Array {
  return Uint16Array.from({ length: count }, (_, i) => classOf(from + i));
}

function classOf(code: number): number {
  const char = String.fromCodePoint(code);
  const flags = SETS.reduce((sum, [flag, set]) => (set.test(char) ? sum | flag : sum), 0);
  return flags | (utf8Length(code) << WIDTH_SHIFT);
}

function utf8Length(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
