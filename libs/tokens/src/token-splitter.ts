import { DEFAULT_ENCODING, type EncodingName } from './encoding.js';
import { BudgetTooSmallError } from './errors.js';
import { type PieceCounter, sharedPieces } from './piece-counter.js';
import { MAX_PIECE_BYTES } from './scanner.js';
import { SlidingBuffer } from './sliding-buffer.js';
import { Utf8Intake } from './utf8.js';

/** Bytes start..end of the stream, and their tokens when counted as a text of their own. */
export interface TokenPart {
  start: number;
  end: number;
  tokens: number;
}

/** A place where the open part could end, and what the part would then count. */
interface Cut {
  at: number;
  tokens: number;
}

/** No character takes more tokens than it has bytes. */
const MIN_BUDGET = 4;
const LINE_FEED = 0x0a;
/** Two pieces at least; counted in one go it takes two thirds of the time that its pieces take one by one. */
const LEAP_BYTES = 2 * MAX_PIECE_BYTES;
/** So much of the budget must be left for a leap: what takes more tokens is not text. */
const LEAP_TOKENS = LEAP_BYTES / 2;

/**
 * Cuts a byte stream into consecutive parts of at most `budget` tokens each, counted alone. Parts end at the last line end
 * that fits; a line longer than the budget is cut between pieces of the pattern, and a piece longer than the budget between
 * characters (CR LF counts as one). The parts, put together, are the stream. Holds little more than one line, and never
 * more than a budget's worth of text.
 *
 * Far from the end of a budget it leaps over several pieces at once. Where a cut turns out to lie in a leap, it goes back
 * and takes that one piece by piece.
 */
export class TokenSplitter {
  private readonly pieces: PieceCounter;
  private readonly buffer = new SlidingBuffer();
  private readonly intake = new Utf8Intake((bytes, repairs) => this.take(bytes, repairs));
  private budget = 0;
  private parts: TokenPart[] = [];
  /** Original offset at which the open part starts. */
  private partStart = 0;
  /** Where the next piece starts, and the tokens of the open part up to there. */
  private at = 0;
  private tokens = 0;
  private lineEnd: Cut | undefined;
  /** The starts of the last two pieces of the open part; both its own start while it has no more. */
  private readonly last: Cut = { at: 0, tokens: 0 };
  private readonly previous: Cut = { at: 0, tokens: 0 };
  private leaping = true;
  /** Where the last leap of the open part started, and the last one with a line end if none was found since. */
  private leap: Cut | undefined;
  private lineLeap: Cut | undefined;
  /** Pieces taken one by one since the last leap. */
  private steps = 0;

  constructor(budget: number, encoding: EncodingName = DEFAULT_ENCODING) {
    this.pieces = sharedPieces(encoding);
    this.restart(budget);
  }

  /** Forgets what was pushed and begins another stream. */
  restart(budget: number): void {
    if (!Number.isInteger(budget) || budget < MIN_BUDGET) throw new BudgetTooSmallError(budget, MIN_BUDGET);
    this.budget = budget;
    this.intake.end();
    this.buffer.reset();
    this.parts = [];
    this.partStart = 0;
    this.goOn(0);
  }

  /** Returns the parts that this chunk completed. */
  push(chunk: Uint8Array): TokenPart[] {
    this.intake.push(chunk);
    return this.handOver();
  }

  /** Returns the last parts and starts over. An empty stream has none. */
  end(): TokenPart[] {
    this.intake.end();
    this.advance(this.buffer.filled, true);
    if (this.tokens > 0) this.close({ at: this.at, tokens: this.tokens });
    const parts = this.handOver();
    this.restart(this.budget);
    return parts;
  }

  private handOver(): TokenPart[] {
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  private take(bytes: Uint8Array, repairs: readonly number[]): void {
    const needed = this.lineEnd ?? this.lineLeap ?? this.leap ?? this.previous;
    const moved = this.buffer.append(bytes, repairs, needed.at);
    this.at -= moved;
    const marks = [this.last, this.previous, this.lineEnd, this.leap, this.lineLeap];
    for (const mark of new Set(marks)) if (mark !== undefined) mark.at -= moved;
    this.advance(this.buffer.filled - MAX_PIECE_BYTES, false);
  }

  private advance(until: number, final: boolean): void {
    const { buffer, pieces } = this;
    while (this.at < until) {
      if (this.mayLeap()) {
        const end = this.at + LEAP_BYTES;
        if (end > until && !final) return;
        if (this.leapt(Math.min(end, until))) continue;
      }
      const tokens = pieces.countUntil(buffer.view, buffer.bytes, this.at, this.at + 1, buffer.filled);
      if (this.tokens + tokens <= this.budget) this.accept(pieces.stoppedAt, tokens);
      else if (!this.wentBack()) this.close(this.bestCut(pieces.stoppedAt, tokens));
    }
  }

  private mayLeap(): boolean {
    return this.leaping && this.tokens + LEAP_TOKENS <= this.budget;
  }

  private leapt(end: number): boolean {
    const { buffer, pieces, at } = this;
    const tokens = pieces.countUntil(buffer.view, buffer.bytes, at, end, buffer.filled);
    this.leaping = this.tokens + tokens <= this.budget;
    if (!this.leaping) return false;
    this.leap = { at, tokens: this.tokens };
    this.at = pieces.stoppedAt;
    this.tokens += tokens;
    this.steps = 0;
    if (buffer.bytes.subarray(at, this.at).includes(LINE_FEED)) {
      this.lineLeap = this.leap;
      this.lineEnd = undefined;
    }
    return true;
  }

  /** Returns to a leap that must be known better: it holds the last line end, or the last two pieces. */
  private wentBack(): boolean {
    if (this.lineEnd !== undefined) return false;
    const leap = this.lineLeap ?? (this.steps < 2 ? this.leap : undefined);
    if (leap === undefined) return false;
    this.goOn(leap.at, leap.tokens);
    this.leaping = false;
    return true;
  }

  private accept(end: number, tokens: number): void {
    const start = this.at;
    const before = this.tokens;
    this.previous.at = this.last.at;
    this.previous.tokens = this.last.tokens;
    this.last.at = start;
    this.last.tokens = before;
    this.at = end;
    this.tokens += tokens;
    this.steps++;
    const lineEnd = lastLineEnd(this.buffer.bytes, start, end);
    if (lineEnd === end) this.foundLineEnd({ at: end, tokens: this.tokens });
    else if (lineEnd > start) this.offerLineEnd(start, lineEnd, before);
  }

  private foundLineEnd(cut: Cut): void {
    this.lineEnd = cut;
    this.lineLeap = undefined;
  }

  /** A line can end inside a piece (`;\\n/`): cut there, the piece's first half counts on its own. */
  private offerLineEnd(start: number, at: number, before: number): void {
    const tokens = before + this.pieces.countAlone(this.buffer.bytes, start, at);
    if (tokens <= this.budget) this.foundLineEnd({ at, tokens });
  }

  /** Where to end the open part, given that the piece at..end no longer fits. */
  private bestCut(end: number, tokens: number): Cut {
    const inPiece = this.largestFit(this.lineEndsIn(end));
    if (inPiece !== undefined) return inPiece;
    if (this.lineEnd !== undefined) return this.lineEnd;
    return this.cutAtEdge() ?? this.cutInside(end, tokens);
  }

  /**
   * The part up to the piece that no longer fits. Its last two pieces are counted again: two of white space, told apart only
   * by what follows them, are one piece when nothing does.
   */
  private cutAtEdge(): Cut | undefined {
    if (this.tokens === 0) return undefined;
    const { at, last, previous } = this;
    const tokens = previous.tokens + this.pieces.countAlone(this.buffer.bytes, previous.at, at);
    return tokens <= this.budget ? { at, tokens } : { ...last };
  }

  private lineEndsIn(end: number): number[] {
    const { bytes } = this.buffer;
    const ends: number[] = [];
    for (let i = this.at; i < end; i++) if (bytes[i] === LINE_FEED) ends.push(i + 1);
    return ends;
  }

  /** The last of the ascending candidates up to which the open part fits; whatever is returned does fit. */
  private largestFit(candidates: readonly number[]): Cut | undefined {
    let best: Cut | undefined;
    let low = 0;
    let high = candidates.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const at = candidates[middle]!;
      const tokens = this.tokens + this.pieces.countAlone(this.buffer.bytes, this.at, at);
      if (tokens <= this.budget) {
        best = { at, tokens };
        low = middle + 1;
      } else high = middle - 1;
    }
    return best;
  }

  /** The piece alone is over the budget: about as much of it as fits, by its average density. */
  private cutInside(end: number, tokens: number): Cut {
    const { bytes } = this.buffer;
    let length = Math.floor(((end - this.at) * this.budget) / tokens);
    // So many bytes fit for certain, each taking a token at most: this ends, and with a character at least.
    while (length > this.budget) {
      const at = characterEdge(bytes, this.at + length);
      const counted = this.pieces.countAlone(bytes, this.at, at);
      if (counted <= this.budget) return { at, tokens: counted };
      length -= 1 + (length >> 5);
    }
    const at = characterEdge(bytes, this.at + this.budget);
    return { at, tokens: this.pieces.countAlone(bytes, this.at, at) };
  }

  private close({ at, tokens }: Cut): void {
    const end = this.buffer.offsetOf(at);
    this.parts.push({ start: this.partStart, end, tokens });
    this.partStart = end;
    this.goOn(at);
  }

  /** Goes on at a position, up to which the open part has so many tokens, knowing nothing of what lies before. */
  private goOn(at: number, tokens = 0): void {
    this.at = this.last.at = this.previous.at = at;
    this.tokens = this.last.tokens = this.previous.tokens = tokens;
    this.lineEnd = this.lineLeap = this.leap = undefined;
    this.leaping = true;
    this.steps = 0;
  }
}

/** Just after the last line feed in start..end, or `start`. */
function lastLineEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end;
  while (at > start && bytes[at - 1] !== LINE_FEED) at--;
  return at;
}

/** The last character's end at or before a position, CR LF taken as one. */
function characterEdge(bytes: Uint8Array, position: number): number {
  let at = position;
  while ((bytes[at]! & 0xc0) === 0x80) at--;
  return bytes[at] === LINE_FEED && bytes[at - 1] === 0x0d ? at - 1 : at;
}
