import { type BytePairCounter } from './byte-pair.js';

const { imul } = Math;

/** Rulers and deep indentation end before this; what is longer seldom comes twice. */
const SLOT_BYTES = 128;

/**
 * Remembers the counts of pieces too long for the inline keys of `PieceCounter`. A slot holds the piece's own bytes and
 * is overwritten by the next piece that hashes to it: bounded, and exact.
 */
export class LongPieceCache {
  private readonly bytes: Uint8Array;
  private readonly lengths: Uint8Array;
  private readonly tokens: Uint8Array;
  private readonly shift: number;

  constructor(
    private readonly merger: BytePairCounter,
    bits: number,
  ) {
    this.bytes = new Uint8Array(SLOT_BYTES << bits);
    this.lengths = new Uint8Array(1 << bits);
    this.tokens = new Uint8Array(1 << bits);
    this.shift = 32 - bits;
  }

  count(view: DataView, bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length > SLOT_BYTES) return this.merger.count(bytes, start, end);
    const slot = this.slotOf(view, start, end);
    if (this.lengths[slot] === length && this.holds(slot, bytes, start, length)) return this.tokens[slot]!;
    const tokens = this.merger.count(bytes, start, end);
    this.bytes.set(bytes.subarray(start, end), slot * SLOT_BYTES);
    this.lengths[slot] = length;
    this.tokens[slot] = tokens;
    return tokens;
  }

  private slotOf(view: DataView, start: number, end: number): number {
    let hash = end - start;
    for (let at = start; at < end - 4; at += 4) hash = imul(hash ^ view.getInt32(at, true), 0x85ebca6b);
    hash = imul(hash ^ view.getInt32(end - 4, true), 0x85ebca6b);
    return imul(hash ^ (hash >>> 15), 0x9e3779b1) >>> this.shift;
  }

  private holds(slot: number, bytes: Uint8Array, start: number, length: number): boolean {
    const own = this.bytes;
    const base = slot * SLOT_BYTES;
    for (let i = 0; i < length; i++) if (own[base + i] !== bytes[start + i]) return false;
    return true;
  }
}
