import { type EncodingName } from './encoding.js';
import { countTokens } from './token-counter.js';

/** How far from an edge of a text a certain boundary is looked for. Few texts have none in their first hundred bytes. */
const WINDOW = 4_096;
/** So little is counted whole: that takes no longer than its edges. */
const SHORT = 1_024;
/** What one cut in the middle of a piece may hide. */
const UNCERTAIN = 1;

/**
 * What `before` and `after` add to the tokens of a text: count(before + text + after) - `tokens`, found from the edges of a
 * longer text alone. Exact where the text has a certain boundary near each edge: both patterns begin a piece at a blank or
 * line end that follows an ASCII letter or digit, whatever stands before and after.
 */
export function tokensAround(
  before: string,
  text: Uint8Array,
  after: string,
  { encoding, tokens }: { encoding: EncodingName; tokens: number },
): number {
  if (text.length <= SHORT) return difference(encoding, before, text, after, tokens);
  const first = firstBoundary(text);
  const last = lastBoundary(text);
  if (first === undefined || last === undefined || first >= last)
    return text.length <= 2 * WINDOW
      ? difference(encoding, before, text, after)
      : roughly(encoding, before, text, after);
  return (
    difference(encoding, before, text.subarray(0, first), '') +
    difference(encoding, '', text.subarray(last), after)
  );
}

/** Counted whole. */
function difference(
  encoding: EncodingName,
  before: string,
  text: Uint8Array,
  after: string,
  tokens = countTokens(text, encoding),
): number {
  // As bytes all of it: the text may end in a torn character.
  return countTokens([Buffer.from(before), text, Buffer.from(after)], encoding) - tokens;
}

/** A long text without blanks: its edges are cut where they may be one piece with what follows. */
function roughly(encoding: EncodingName, before: string, text: Uint8Array, after: string): number {
  const start = text.subarray(0, WINDOW);
  const end = text.subarray(-WINDOW);
  return difference(encoding, before, start, '') + difference(encoding, '', end, after) + 2 * UNCERTAIN;
}

function firstBoundary(text: Uint8Array): number | undefined {
  const end = Math.min(text.length, WINDOW);
  for (let at = 1; at < end; at++) if (isBoundary(text, at)) return at;
  return undefined;
}

function lastBoundary(text: Uint8Array): number | undefined {
  const end = Math.max(1, text.length - WINDOW);
  for (let at = text.length - 1; at >= end; at--) if (isBoundary(text, at)) return at;
  return undefined;
}

function isBoundary(text: Uint8Array, at: number): boolean {
  const byte = text[at];
  return (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) && isAlphanumeric(text[at - 1]!);
}

function isAlphanumeric(byte: number): boolean {
  const letter = byte | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39);
}
