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
