import { SENTINEL, SENTINELS } from './scanner.js';
import { type Repairs } from './utf8.js';

const INITIAL = 262_144;

/**
 * The stretch of a repaired byte stream that is still needed, closed by sentinels for the scanner. Positions are offsets
 * into `bytes` and move when `append` lets go of what lies before `keep`; `offsetOf` turns one into the offset in the
 * stream as it was before repair.
 */
export class SlidingBuffer {
  bytes = new Uint8Array(INITIAL + SENTINELS);
  view = new DataView(this.bytes.buffer);
  filled = 0;
  /** Repaired stream offset of `bytes[0]`. */
  private base = 0;
  /** Repairs by the repaired stream offset of their end; those before `passed` are summed up in `surplus`. */
  private repairs: { end: number; surplus: number }[] = [];
  private passed = 0;
  private surplus = 0;

  /** Adds bytes; returns by how much positions moved down. */
  append(bytes: Uint8Array, repairs: Repairs, keep: number): number {
    const moved = this.makeRoom(bytes.length, keep);
    const from = this.base + this.filled;
    this.repairs.splice(0, this.passed);
    this.passed = 0;
    for (let i = 0; i < repairs.length; i += 2) {
      this.repairs.push({ end: from + repairs[i]!, surplus: repairs[i + 1]! });
    }
    this.bytes.set(bytes, this.filled);
    this.filled += bytes.length;
    this.bytes.fill(SENTINEL, this.filled, this.filled + SENTINELS);
    return moved;
  }

  /** The original stream offset of a position. Positions must be asked for in ascending order. */
  offsetOf(position: number): number {
    const offset = this.base + position;
    for (let next; (next = this.repairs[this.passed]) !== undefined && next.end <= offset; this.passed++) {
      this.surplus += next.surplus;
    }
    return offset - this.surplus;
  }

  reset(): void {
    this.filled = this.base = this.passed = this.surplus = 0;
    this.repairs = [];
  }

  // Grows only when more than half is still needed, so that the copying stays linear in the stream.
  private makeRoom(incoming: number, keep: number): number {
    const capacity = this.bytes.length - SENTINELS;
    if (this.filled + incoming <= capacity) return 0;
    const kept = this.bytes.subarray(keep, this.filled);
    const needed = kept.length + incoming;
    if (needed > capacity / 2) {
      this.bytes = new Uint8Array(Math.max(2 * capacity, 2 * needed) + SENTINELS);
      this.view = new DataView(this.bytes.buffer);
    }
    this.bytes.set(kept);
    this.filled -= keep;
    this.base += keep;
    return keep;
  }
}
