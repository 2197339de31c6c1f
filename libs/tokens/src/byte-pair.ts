import { MAX_PIECE_BYTES } from './scanner.js';
import { hashPowers, hashStep, NO_RANK, type Vocabulary } from './vocabulary.js';

const { imul } = Math;

/** Up to here a plain search for the lowest rank keeps up with a heap; anything from 24 to 64 measures alike. */
const SHORT = 32;
/** A heap key is the rank above the offset, so that one comparison finds the lowest rank, leftmost first. */
const OFFSET_BITS = 13;
const OFFSET_MASK = (1 << OFFSET_BITS) - 1;

/**
 * Counts the tokens of one piece by byte-pair merging: the lowest-ranked adjacent pair merges first, the leftmost among
 * equals, until no pair is a token. O(n log n) in the piece, which `MAX_PIECE_BYTES` bounds. Reuses its arrays: not
 * reentrant.
 */
export class BytePairCounter {
  /** Steps taken since construction, so that tests can prove the work linear without a clock. */
  steps = 0;
  private readonly powers: Int32Array;
  private readonly longest: number;
  private readonly pairs: Int32Array;
  private readonly prefix = new Int32Array(MAX_PIECE_BYTES + 1);
  /** By offset of a part: where the next and the previous part start, and the rank of this part joined to the next. */
  private readonly next = new Int32Array(MAX_PIECE_BYTES + 1);
  private readonly previous = new Int32Array(MAX_PIECE_BYTES + 1);
  private readonly ranks = new Int32Array(MAX_PIECE_BYTES + 1);
  /** Every merge removes an entry and adds two at most. */
  private readonly heap = new Int32Array(2 * MAX_PIECE_BYTES);
  private heapSize = 0;
  private bytes: Uint8Array = new Uint8Array(0);
  private base = 0;

  constructor(private readonly vocabulary: Vocabulary) {
    this.longest = vocabulary.longestToken;
    this.powers = hashPowers(this.longest);
    this.pairs = vocabulary.pairRanks;
  }

  count(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length === 1) return 1;
    this.bytes = bytes;
    this.base = start;
    const hash = this.hashPrefixes(length);
    if (length <= this.longest && this.vocabulary.find(bytes, start, length, hash) !== NO_RANK) return 1;
    this.rankBytePairs(length);
    return length <= SHORT ? this.mergeShort(length) : this.mergeLong(length);
  }

  private hashPrefixes(length: number): number {
    const { bytes, base, prefix } = this;
    let hash = 0;
    for (let i = 0; i < length; i++) {
      hash = hashStep(hash, bytes[base + i]!);
      prefix[i + 1] = hash;
    }
    return hash;
  }

  private rankBytePairs(length: number): void {
    const { bytes, base, pairs, ranks } = this;
    for (let i = 0; i < length - 1; i++) ranks[i] = pairs[(bytes[base + i]! << 8) | bytes[base + i + 1]!]!;
    ranks[length - 1] = NO_RANK;
    this.steps += length;
  }

  /** The parts are kept dense: `next` holds the start of part i, `ranks` the rank of parts i and i + 1 joined. */
  private mergeShort(length: number): number {
    const { next: starts, ranks } = this;
    let parts = length;
    for (let i = 0; i <= length; i++) starts[i] = i;
    for (;;) {
      let lowest = NO_RANK;
      let at = 0;
      for (let i = 0; i < parts - 1; i++) {
        if (ranks[i]! < lowest) {
          lowest = ranks[i]!;
          at = i;
        }
      }
      this.steps += parts;
      if (lowest === NO_RANK) return parts;
      parts--;
      for (let i = at + 1; i <= parts; i++) {
        starts[i] = starts[i + 1]!;
        ranks[i] = ranks[i + 1]!;
      }
      ranks[at] = at < parts - 1 ? this.rankOf(starts[at]!, starts[at + 2]!) : NO_RANK;
      if (at > 0) ranks[at - 1] = this.rankOf(starts[at - 1]!, starts[at + 1]!);
    }
  }

  private mergeLong(length: number): number {
    const { next, previous, ranks } = this;
    let parts = length;
    for (let i = 0; i <= length; i++) {
      next[i] = i + 1;
      previous[i] = i - 1;
    }
    this.fillHeap(length);
    while (this.heapSize > 0) {
      const key = this.popLowest();
      const at = key & OFFSET_MASK;
      if (ranks[at] !== key >> OFFSET_BITS) continue;
      parts--;
      const joined = next[at]!;
      const after = next[joined]!;
      ranks[joined] = NO_RANK;
      next[at] = after;
      previous[after] = at;
      this.rerank(at, after, length);
      if (at > 0) this.rerank(previous[at]!, at, length);
    }
    return parts;
  }

  /** The part at `at` is followed by the part at `middle`: finds the rank of the two joined. */
  private rerank(at: number, middle: number, length: number): void {
    const rank = middle < length ? this.rankOf(at, this.next[middle]!) : NO_RANK;
    this.ranks[at] = rank;
    if (rank !== NO_RANK) this.push((rank << OFFSET_BITS) | at);
  }

  private rankOf(from: number, to: number): number {
    const length = to - from;
    if (length > this.longest) return NO_RANK;
    const hash = (this.prefix[to]! - imul(this.prefix[from]!, this.powers[length]!)) | 0;
    return this.vocabulary.find(this.bytes, this.base + from, length, hash);
  }

  private fillHeap(length: number): void {
    const { heap, ranks } = this;
    let size = 0;
    for (let i = 0; i < length - 1; i++)
      if (ranks[i] !== NO_RANK) heap[size++] = (ranks[i]! << OFFSET_BITS) | i;
    this.heapSize = size;
    for (let i = (size >> 1) - 1; i >= 0; i--) this.sink(i, heap[i]!);
  }

  private popLowest(): number {
    const lowest = this.heap[0]!;
    const last = this.heap[--this.heapSize]!;
    if (this.heapSize > 0) this.sink(0, last);
    return lowest;
  }

  private push(key: number): void {
    const heap = this.heap;
    let at = this.heapSize++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! <= key) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = key;
    this.steps++;
  }

  private sink(from: number, key: number): void {
    const { heap, heapSize } = this;
    let at = from;
    for (let child = 2 * at + 1; child < heapSize; child = 2 * at + 1) {
      if (child + 1 < heapSize && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= key) break;
      heap[at] = heap[child]!;
      at = child;
      this.steps++;
    }
    heap[at] = key;
  }
}
