import { isUtf8 } from 'node:buffer';

/** Bytes looked at in one go: bounds what a repair, which may triple them, can allocate. */
const SLICE = 65_536;
const REPLACEMENT = [0xef, 0xbf, 0xbd] as const;

/**
 * Bytes that were replaced: pairs of the offset just after a replacement character, and how many bytes longer it is than
 * what it stands for. Empty when nothing was.
 */
export type Repairs = readonly number[];

const NONE: Repairs = [];
const EMPTY: Uint8Array = new Uint8Array(0);

type Sink = (bytes: Uint8Array, repairs: Repairs) => void;

/**
 * Passes a byte stream on as well-formed UTF-8, whatever the chunking: characters are never torn, and every ill-formed
 * sequence becomes one U+FFFD, by the rule of the WHATWG decoder (`TextDecoder`). A byte-order mark is kept.
 */
export class Utf8Intake {
  private torn = EMPTY;

  constructor(private readonly sink: Sink) {}

  push(chunk: Uint8Array): void {
    if (this.torn.length === 0 && chunk.length <= SLICE && isUtf8(chunk)) return this.sink(chunk, NONE);
    let at = this.torn.length > 0 ? this.mend(chunk) : 0;
    while (at < chunk.length) {
      const slice = chunk.subarray(at, at + SLICE);
      const whole = slice.length - tornLength(slice);
      this.pass(slice.subarray(0, whole));
      at += whole;
      if (whole < slice.length && at + 3 >= chunk.length) break;
    }
    // A copy, which Buffer's slice() is not: readers use the same buffer again for their next chunk.
    if (at < chunk.length) this.torn = Uint8Array.from(chunk.subarray(at));
  }

  /** Passes what was left torn, then starts over. */
  end(): void {
    this.pass(this.torn);
    this.torn = EMPTY;
  }

  /** Completes the character torn by the last chunk's end; returns how much of this chunk that took. */
  private mend(chunk: Uint8Array): number {
    const held = this.torn.length;
    const joined = new Uint8Array([...this.torn, ...chunk.subarray(0, 3)]);
    const whole = joined.length - tornLength(joined);
    this.torn = whole === 0 ? joined : EMPTY;
    this.pass(joined.subarray(0, whole));
    return whole === 0 ? chunk.length : whole - held;
  }

  private pass(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (isUtf8(bytes)) return this.sink(bytes, NONE);
    const repaired = repairUtf8(bytes);
    this.sink(repaired.bytes, repaired.repairs);
  }
}

export function repairUtf8(bytes: Uint8Array): { bytes: Uint8Array; repairs: Repairs } {
  const out = new Uint8Array(bytes.length * REPLACEMENT.length);
  const repairs: number[] = [];
  let written = 0;
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      for (let i = 0; i < length; i++) out[written++] = bytes[at++]!;
      continue;
    }
    out.set(REPLACEMENT, written);
    written += REPLACEMENT.length;
    repairs.push(written, REPLACEMENT.length + length);
    at -= length;
  }
  return { bytes: out.subarray(0, written), repairs };
}

/** The length of the character at `at`; negative: of the ill-formed sequence (the maximal subpart) there. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return -1;
  const length = leadLength(first);
  for (let i = 1; i < length; i++) {
    const byte = bytes[at + i];
    if (byte === undefined || !continues(first, i, byte)) return -i;
  }
  return length;
}

// The second byte's range is narrower after four of the leads: no overlong forms, no surrogates, nothing past U+10FFFF.
function continues(first: number, index: number, byte: number): boolean {
  const low = index > 1 ? 0x80 : first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = index > 1 ? 0xbf : first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  return byte >= low && byte <= high;
}

/** How many bytes at the end may be the start of a character that goes on. */
function tornLength(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    return leadLength(byte) > back ? back : 0;
  }
  return 0;
}

function leadLength(byte: number): number {
  if (byte < 0xc0 || byte > 0xf7) return 1;
  if (byte < 0xe0) return 2;
  return byte < 0xf0 ? 3 : 4;
}
