import { BytePairCounter } from './byte-pair.js';
import { type EncodingName } from './encoding.js';
import { LongPieceCache } from './long-piece-cache.js';
import { SCANNERS } from './patterns.js';
import { MAX_PIECE_BYTES, type Scanner } from './scanner.js';
import { vocabularyOf } from './vocabulary.js';

const { imul } = Math;

/** 1 MB of entries, and as much for long pieces: near a core's second-level cache, and the working set of most trees. */
const DEFAULT_CACHE_ENTRIES = 32_768;

/** Longest piece with an inline key: four words of the piece itself, so equal keys are equal pieces. */
const KEY_BYTES = 16;
/** Ints an entry: four words of key, then tokens << 8 | length (0 marks a free entry). */
const STRIDE_BITS = 3;
const META = 4;
/** Long pieces are rarer and larger: one slot for four of the others. */
const LONG_BITS_FEWER = 2;

/** By length: the four masks that keep so many bytes of four little-endian words. */
const WORD_MASKS = Int32Array.from({ length: 4 * (KEY_BYTES + 1) }, (_, i) => {
  const kept = (i >> 2) - 4 * (i & 3);
  if (kept <= 0) return 0;
  return kept >= 4 ? -1 : (1 << (8 * kept)) - 1;
});

/**
 * Counts text piece by piece: scan to the piece's end, look the piece up in a bounded cache, merge byte pairs on a miss.
 * The cache holds whole pieces, never only hashes of them, so a count never depends on what was counted before.
 */
export class PieceCounter {
  /** Where the last `countUntil` stopped: the start of the next piece. */
  stoppedAt = 0;
  readonly merger: BytePairCounter;
  private readonly scanner: Scanner;
  private readonly cache: Int32Array;
  private readonly longPieces: LongPieceCache;
  private readonly shift: number;
  /** The ASCII scanner runs to the end of a run, so inside a cut one it would do so again at every cut. */
  private inLongRun = false;

  constructor(encoding: EncodingName, cacheEntries: number = DEFAULT_CACHE_ENTRIES) {
    this.scanner = SCANNERS[encoding];
    this.merger = new BytePairCounter(vocabularyOf(encoding));
    const bits = Math.max(1, Math.floor(Math.log2(cacheEntries)));
    this.shift = 32 - bits;
    this.cache = new Int32Array(1 << (bits + STRIDE_BITS));
    this.longPieces = new LongPieceCache(this.merger, Math.max(1, bits - LONG_BITS_FEWER));
  }

  /**
   * Counts the pieces that start in start..until, in a buffer whose text ends at `end` and is closed by sentinels.
   * One long function on purpose: it is where the pipeline's time goes, and a call a piece costs a third of it.
   */
  countUntil(view: DataView, bytes: Uint8Array, start: number, until: number, end: number): number {
    const { scanner, cache, shift } = this;
    let tokens = 0;
    let stop = start;
    let { inLongRun } = this;
    for (let at = start; at < until; at = stop) {
      stop = inLongRun ? 0 : scanner.asciiPieceEnd(bytes, at);
      // Beyond ASCII, or within sight of the horizon, the rule that knows both decides.
      if (stop === 0 || stop - at >= MAX_PIECE_BYTES - 4) stop = scanner.pieceEnd(bytes, at, end);
      const length = stop - at;
      inLongRun = length > MAX_PIECE_BYTES / 2;
      if (length > KEY_BYTES) {
        tokens += this.longPieces.count(view, bytes, at, stop);
        continue;
      }
      const masks = length << 2;
      const w0 = view.getInt32(at, true) & WORD_MASKS[masks]!;
      const w1 = view.getInt32(at + 4, true) & WORD_MASKS[masks + 1]!;
      const w2 = view.getInt32(at + 8, true) & WORD_MASKS[masks + 2]!;
      const w3 = view.getInt32(at + 12, true) & WORD_MASKS[masks + 3]!;
      let hash = imul(w0, 0x9e3779b1) ^ imul(w1, 0x85ebca6b);
      hash ^= imul(w2, 0xc2b2ae35) ^ imul(w3, 0x27d4eb2f);
      hash = imul(hash ^ (hash >>> 15) ^ length, 0x9e3779b1);
      const slot = (hash >>> shift) << STRIDE_BITS;
      const meta = cache[slot + META]!;
      // Differences are gathered without branching: one guess for the processor instead of five.
      let unlike = (meta & 0xff) ^ length;
      unlike |= (cache[slot]! ^ w0) | (cache[slot + 1]! ^ w1);
      unlike |= (cache[slot + 2]! ^ w2) | (cache[slot + 3]! ^ w3);
      if (unlike === 0) tokens += meta >> 8;
      else {
        const counted = this.merger.count(bytes, at, stop);
        cache[slot] = w0;
        cache[slot + 1] = w1;
        cache[slot + 2] = w2;
        cache[slot + 3] = w3;
        cache[slot + META] = (counted << 8) | length;
        tokens += counted;
      }
    }
    this.inLongRun = inLongRun;
    this.stoppedAt = stop;
    return tokens;
  }

  /** Counts start..end as a text of its own, whatever follows it in the buffer; neither sentinels nor cache. */
  countAlone(bytes: Uint8Array, start: number, end: number): number {
    let tokens = 0;
    for (let at = start; at < end;) {
      const stop = this.scanner.pieceEnd(bytes, at, end);
      tokens += this.merger.count(bytes, at, stop);
      at = stop;
    }
    return tokens;
  }
}

const shared = new Map<EncodingName, PieceCounter>();

/** The thread's own counter of an encoding: what one file warmed serves the next. */
export function sharedPieces(encoding: EncodingName): PieceCounter {
  let pieces = shared.get(encoding);
  if (pieces === undefined) shared.set(encoding, (pieces = new PieceCounter(encoding)));
  return pieces;
}
