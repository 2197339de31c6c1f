import { DEFAULT_ENCODING, type EncodingName } from './encoding.js';
import { sharedPieces } from './piece-counter.js';
import { MAX_PIECE_BYTES, SENTINEL, SENTINELS } from './scanner.js';
import { Utf8Intake } from './utf8.js';

const CAPACITY = 65_536 + MAX_PIECE_BYTES;

/**
 * Counts the tokens of a text pushed in chunks of any size, in constant memory. The result does not depend on the
 * chunking, never fails on content, and equals `countTokens` of the whole. `end` makes the counter ready for the next text.
 */
export class TokenCounter {
  private readonly intake = new Utf8Intake((bytes) => this.append(bytes));
  private readonly buffer = new Uint8Array(CAPACITY + SENTINELS);
  private readonly view = new DataView(this.buffer.buffer);
  private filled = 0;
  private tokens = 0;

  /** `pieces`: a thread's counters of an encoding share one, unless given. */
  constructor(
    encoding: EncodingName = DEFAULT_ENCODING,
    private readonly pieces = sharedPieces(encoding),
  ) {}

  push(chunk: Uint8Array): void {
    this.intake.push(chunk);
  }

  /** The tokens of what was pushed. */
  end(): number {
    this.intake.end();
    this.count(true);
    const { tokens } = this;
    this.tokens = 0;
    return tokens;
  }

  private append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      if (this.filled === CAPACITY) this.count(false);
      const part = bytes.subarray(at, at + CAPACITY - this.filled);
      this.buffer.set(part, this.filled);
      this.filled += part.length;
      at += part.length;
    }
  }

  /** Counts what is certain: unless the text ends here, a piece needs its whole horizon in the buffer. */
  private count(final: boolean): void {
    const { buffer, filled } = this;
    const until = final ? filled : filled - MAX_PIECE_BYTES;
    buffer.fill(SENTINEL, filled, filled + SENTINELS);
    this.tokens += this.pieces.countUntil(this.view, buffer, 0, until, filled);
    const counted = this.pieces.stoppedAt;
    buffer.copyWithin(0, counted, filled);
    this.filled = filled - counted;
  }
}

const counters = new Map<EncodingName, TokenCounter>();
const encoder = new TextEncoder();

/**
 * The number of tokens of a text, given in pieces. Special tokens such as `<|endoftext|>` are text like any other. Never
 * throws on content. Lone surrogates are counted as U+FFFD, which is what they become when written to a file.
 */
export function countTokens(
  text: string | Uint8Array | readonly Uint8Array[],
  encoding: EncodingName = DEFAULT_ENCODING,
): number {
  let counter = counters.get(encoding);
  if (counter === undefined) counters.set(encoding, (counter = new TokenCounter(encoding)));
  if (typeof text === 'string') counter.push(encoder.encode(text));
  else if (text instanceof Uint8Array) counter.push(text);
  else for (const piece of text) counter.push(piece);
  return counter.end();
}
