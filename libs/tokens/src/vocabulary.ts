import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type EncodingName } from './encoding.js';
import { VocabularyUnavailableError } from './errors.js';
import { readRanks, type Ranks } from './ranks.js';

const { imul } = Math;

/** What `find` answers when the bytes are no token. Larger than any rank, so that it loses every comparison. */
export const NO_RANK = 0x7fffffff;

const HASH_BASE = 0x01000193;
const SPREAD = 0x9e3779b1;

/** One step of the rolling hash; `+ 1` lets leading NULs count. */
export const hashStep = (hash: number, byte: number): number => (imul(hash, HASH_BASE) + byte + 1) | 0;

/** Powers of the hash base: the hash of bytes i..j is `prefix[j] - prefix[i] * power[j - i]`. */
export function hashPowers(count: number): Int32Array {
  const powers = new Int32Array(count + 1).fill(1);
  for (let i = 1; i <= count; i++) powers[i] = imul(powers[i - 1]!, HASH_BASE);
  return powers;
}

/**
 * The ranks of one encoding as an open-addressing table over the tokens' bytes.
 * Read-only after construction; `find` compares bytes, so a hash collision never gives a wrong rank.
 */
export class Vocabulary {
  readonly size: number;
  readonly longestToken: number;
  /** Rank of every two-byte token, by `first << 8 | second`. */
  readonly pairRanks = new Int32Array(0x10000).fill(NO_RANK);
  private readonly bytes: Uint8Array;
  private readonly offsets: Int32Array;
  /** Slot: hash, rank + 1 (0 marks a free slot). */
  private readonly slots: Int32Array;
  private readonly shift: number;

  constructor({ bytes, offsets, longest }: Ranks) {
    this.bytes = bytes;
    this.offsets = offsets;
    this.longestToken = longest;
    this.size = offsets.length - 1;
    // At most 40 % full: most lookups of a merge are misses, and a miss must end at its first slot.
    const bits = Math.ceil(Math.log2(this.size / 0.4));
    this.shift = 32 - bits;
    this.slots = new Int32Array(2 << bits);
    for (let rank = 0; rank < this.size; rank++) this.insert(rank);
  }

  find(source: Uint8Array, start: number, length: number, hash: number): number {
    const slots = this.slots;
    const wrap = slots.length - 1;
    let slot = (imul(hash, SPREAD) >>> this.shift) << 1;
    for (;;) {
      const entry = slots[slot + 1]!;
      if (entry === 0) return NO_RANK;
      if (slots[slot] === hash && this.equals(entry - 1, source, start, length)) return entry - 1;
      slot = (slot + 2) & wrap;
    }
  }

  private equals(rank: number, source: Uint8Array, start: number, length: number): boolean {
    const bytes = this.bytes;
    const offset = this.offsets[rank]!;
    if (this.offsets[rank + 1]! - offset !== length) return false;
    for (let i = 0; i < length; i++) if (bytes[offset + i] !== source[start + i]) return false;
    return true;
  }

  private insert(rank: number): void {
    const { bytes, slots } = this;
    const start = this.offsets[rank]!;
    const end = this.offsets[rank + 1]!;
    if (end - start === 2) this.pairRanks[(bytes[start]! << 8) | bytes[start + 1]!] = rank;
    let hash = 0;
    for (let i = start; i < end; i++) hash = hashStep(hash, bytes[i]!);
    let slot = (imul(hash, SPREAD) >>> this.shift) << 1;
    while (slots[slot + 1] !== 0) slot = (slot + 2) & (slots.length - 1);
    slots[slot] = hash;
    slots[slot + 1] = rank + 1;
  }
}

const loaded = new Map<EncodingName, Vocabulary>();

/** The vocabulary of an encoding, loaded on first use and then shared by this thread. */
export function vocabularyOf(encoding: EncodingName): Vocabulary {
  let vocabulary = loaded.get(encoding);
  if (vocabulary === undefined) {
    vocabulary = load(encoding);
    loaded.set(encoding, vocabulary);
  }
  return vocabulary;
}

// The package ships its ranks twice. The module of 200,000 literals costs 115 ms and 39 MB a thread to import;
// the file it was generated from holds the same ranks (a test compares them) for a third of the time and memory.
function load(encoding: EncodingName): Vocabulary {
  try {
    const file = createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${encoding}.tiktoken`);
    return new Vocabulary(readRanks(readFileSync(file)));
  } catch (cause) {
    throw new VocabularyUnavailableError(encoding, cause);
  }
}
