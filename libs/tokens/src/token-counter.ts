import { DEFAULT_ENCODING, type EncodingName, knownEncoding } from './encoding.js';
import { PieceCounter, sharedPieces } from './piece-counter.js';
import { MAX_PIECE_BYTES, SENTINEL, SENTINELS } from './scanner.js';
import { Utf8Intake } from './utf8.js';

export interface TokenCount {
  tokens: number;
  /** Bytes as pushed, before any repair. */
  bytes: number;
  /** Line feeds, and one more for a last line without one. */
  lines: number;
  /** Some bytes were no UTF-8 and were counted as U+FFFD. */
  invalidUtf8: boolean;
  /** The text starts with a byte-order mark, which is counted like any other character. */
  bom: boolean;
}

export interface TokenCounterOptions {
  /** Give this counter a piece cache of its own, of at most so many entries; by default a thread's counters share one. */
  cacheEntries?: number;
}

const BLOCK = 65_536;
const CAPACITY = BLOCK + MAX_PIECE_BYTES;
/** UTF-16 units encoded in one go; three bytes each at most, so a slice always fits a block. */
const TEXT_SLICE = 16_384;
const LONGEST_CHARACTER = 4;
const LINE_FEED = 0x0a;

/**
 * Counts the tokens of a text pushed in chunks of any size, in constant memory. The result does not depend on the
 * chunking, never fails on content, and equals `countTokens` of the whole. `end` makes the counter ready for the next text.
 */
export class TokenCounter {
  private readonly pieces: PieceCounter;
  private readonly intake = new Utf8Intake((bytes) => this.append(bytes));
  private readonly buffer = new Uint8Array(CAPACITY + SENTINELS);
  private readonly view = new DataView(this.buffer.buffer);
  private readonly encoder = new TextEncoder();
  private filled = 0;
  private tokens = 0;
  private bytes = 0;
  private lineFeeds = 0;
  private lastByte = LINE_FEED;
  private bom = false;
  private atStart = true;

  constructor(encoding: EncodingName = DEFAULT_ENCODING, { cacheEntries }: TokenCounterOptions = {}) {
    const known = knownEncoding(encoding);
    this.pieces = cacheEntries === undefined ? sharedPieces(known) : new PieceCounter(known, cacheEntries);
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.intake.push(chunk);
  }

  /** Lone surrogates are counted as U+FFFD, which is what they become when written to a file. */
  pushText(text: string): void {
    for (let at = 0; at < text.length;) {
      const end = sliceEnd(text, at);
      const slice = at === 0 && end === text.length ? text : text.slice(at, end);
      this.makeRoom();
      const { read, written } = this.encoder.encodeInto(slice, this.buffer.subarray(this.filled, CAPACITY));
      this.bytes += written;
      this.took(written);
      at += read;
    }
  }

  end(): TokenCount {
    const { invalid } = this.intake.end();
    this.count(true);
    const lines = this.lineFeeds + (this.lastByte === LINE_FEED ? 0 : 1);
    const result = { tokens: this.tokens, bytes: this.bytes, lines, invalidUtf8: invalid, bom: this.bom };
    this.reset();
    return result;
  }

  private append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      this.makeRoom();
      const part = bytes.subarray(at, at + CAPACITY - this.filled);
      this.buffer.set(part, this.filled);
      this.took(part.length);
      at += part.length;
    }
  }

  private makeRoom(): void {
    if (CAPACITY - this.filled < LONGEST_CHARACTER) this.count(false);
  }

  private took(written: number): void {
    const { buffer, filled } = this;
    const end = filled + written;
    if (written === 0) return;
    if (this.atStart)
      this.bom = written >= 3 && buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf;
    this.atStart = false;
    this.lineFeeds += countLineFeeds(buffer, filled, end);
    this.lastByte = buffer[end - 1]!;
    this.filled = end;
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

  private reset(): void {
    this.filled = this.tokens = this.bytes = this.lineFeeds = 0;
    this.lastByte = LINE_FEED;
    this.bom = false;
    this.atStart = true;
  }
}

function countLineFeeds(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i++) if (bytes[i] === LINE_FEED) count++;
  return count;
}

function sliceEnd(text: string, start: number): number {
  const end = start + TEXT_SLICE;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}
