import { type EncodingName } from './encoding.js';
import { TokenCounter } from './token-counter.js';

/** How far from an edge of a text a certain boundary is looked for. Few texts have none in their first hundred bytes. */
const WINDOW = 4_096;
/** What one cut in the middle of a piece may hide. */
const UNCERTAIN = 1;

const encoder = new TextEncoder();
const counters = new Map<EncodingName, TokenCounter>();

/**
 * What `before` and `after` add to the tokens of a text: count(before + text + after) - count(text), found from the edges
 * of the text alone. Exact where the text has a certain boundary near each edge: both patterns begin a piece at a blank or
 * line end that follows an ASCII letter or digit, whatever stands before and after.
 */
export function tokensAround(
  before: string,
  text: Uint8Array,
  after: string,
  encoding: EncodingName,
): number {
  const first = firstBoundary(text);
  const last = lastBoundary(text);
  const counter = counterOf(encoding);
  if (first === undefined || last === undefined || first >= last)
    return text.length <= 2 * WINDOW
      ? difference(counter, before, text, after)
      : roughly(counter, before, text, after);
  return (
    difference(counter, before, text.subarray(0, first), '') +
    difference(counter, '', text.subarray(last), after)
  );
}

function difference(counter: TokenCounter, before: string, text: Uint8Array, after: string): number {
  return count(counter, before, text, after) - count(counter, '', text, '');
}

/** A long text without blanks: its edges are cut where they may be one piece with what follows. */
function roughly(counter: TokenCounter, before: string, text: Uint8Array, after: string): number {
  const start = text.subarray(0, WINDOW);
  const end = text.subarray(-WINDOW);
  return difference(counter, before, start, '') + difference(counter, '', end, after) + 2 * UNCERTAIN;
}

function count(counter: TokenCounter, before: string, text: Uint8Array, after: string): number {
  // As bytes all of it: the text may end in a torn character.
  for (const bytes of [encoder.encode(before), text, encoder.encode(after)]) counter.push(bytes);
  return counter.end().tokens;
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

function counterOf(encoding: EncodingName): TokenCounter {
  let counter = counters.get(encoding);
  if (counter === undefined) counters.set(encoding, (counter = new TokenCounter(encoding)));
  return counter;
}
