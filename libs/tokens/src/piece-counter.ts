import { BytePairCounter } from './byte-pair.js';
import { cl100k } from './cl100k.js';
import { type EncodingName } from './encoding.js';
import { CacheSizeError } from './errors.js';
import { o200k } from './o200k.js';
import { type Scanner } from './scanner.js';
import { vocabularyOf } from './vocabulary.js';

const SCANNERS: Readonly<Record<EncodingName, Scanner>> = { o200k_base: o200k, cl100k_base: cl100k };

/** 16,384 entries of 32 bytes stay in a core's second-level cache, and hold the working set of most trees. */
export const DEFAULT_CACHE_ENTRIES = 16_384;
const MAX_CACHE_ENTRIES = 1 << 22;

/** Longest piece the cache can hold: its key is four words of the piece itself, so equal keys are equal pieces. */
const KEY_BYTES = 16;
/** Ints an entry: four words of key, then tokens << 8 | length (0 marks a free entry). */
const STRIDE = 8;
const META = 4;
/** Keeps the first 0..4 bytes of a little-endian word. */
const WORD_MASKS = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1);

/**
 * Counts text piece by piece: scan to the piece's end, look the piece up in a bounded cache, merge byte pairs on a miss.
 * The cache holds whole pieces, never only hashes of them, so a count never depends on what was counted before.
 */
export class PieceCounter {
  readonly scanner: Scanner;
  readonly merger: BytePairCounter;
  private readonly cache: Int32Array;
  private readonly shift: number;

  constructor(encoding: EncodingName, cacheEntries: number = DEFAULT_CACHE_ENTRIES) {
    if (!Number.isInteger(cacheEntries) || cacheEntries < 1 || cacheEntries > MAX_CACHE_ENTRIES) {
      throw new CacheSizeError(cacheEntries, MAX_CACHE_ENTRIES);
    }
    this.scanner = SCANNERS[encoding];
    this.merger = new BytePairCounter(vocabularyOf(encoding));
    const bits = Math.max(1, Math.floor(Math.log2(cacheEntries)));
    this.shift = 32 - bits;
    this.cache = new Int32Array(STRIDE << bits);
  }

  /**
   * Counts the pieces that start before `until` in a buffer whose text ends at `end` and is closed by sentinels.
   * Returns the tokens and leaves in `stoppedAt` where the next piece would start.
   */
  countUntil(view: DataView, bytes: Uint8Array, start: number, until: number, end: number): number {
    const scanner = this.scanner;
    let tokens = 0;
    let at = start;
    while (at < until) {
      const stop = scanner.asciiPieceEnd(bytes, at) || scanner.pieceEnd(bytes, at, end);
      tokens += stop - at === 1 ? 1 : this.countPiece(view, bytes, at, stop);
      at = stop;
    }
    this.stoppedAt = at;
    return tokens;
  }

  stoppedAt = 0;

  /** The tokens of the bytes start..end taken as one piece. The view must reach four bytes past `end`. */
  countPiece(view: DataView, bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length > KEY_BYTES) return this.merger.count(bytes, start, end);
    let w0 = view.getInt32(start, true);
    let w1 = 0;
    let w2 = 0;
    let w3 = 0;
    if (length <= 4) w0 &= WORD_MASKS[length]!;
    else if (length <= 8) w1 = view.getInt32(end - 4, true);
    else {
      w1 = view.getInt32(start + 4, true);
      w2 = view.getInt32(end - 8, true);
      w3 = view.getInt32(end - 4, true);
    }
    let hash =
      Math.imul(w0, 0x9e3779b1) ^
      Math.imul(w1, 0x85ebca6b) ^
      Math.imul(w2, 0xc2b2ae35) ^
      Math.imul(w3, 0x27d4eb2f);
    hash = Math.imul(hash ^ (hash >>> 15) ^ length, 0x9e3779b1);
    const slot = (hash >>> this.shift) * STRIDE;
    const cache = this.cache;
    const meta = cache[slot + META]!;
    if (
      (meta & 0xff) === length &&
      cache[slot] === w0 &&
      cache[slot + 1] === w1 &&
      cache[slot + 2] === w2 &&
      cache[slot + 3] === w3
    ) {
      return meta >> 8;
    }
    const tokens = this.merger.count(bytes, start, end);
    cache[slot] = w0;
    cache[slot + 1] = w1;
    cache[slot + 2] = w2;
    cache[slot + 3] = w3;
    cache[slot + META] = (tokens << 8) | length;
    return tokens;
  }
}
