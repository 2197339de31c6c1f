import { createHash, hash, type Hash } from 'node:crypto';

const CDATA_END = Buffer.from(']]>');
const SEAM = CDATA_END.length - 1;

/** Hash, length and number of `]]>` of bytes that come in chunks. One chunk, the usual case, takes the short way. */
export class ContentMeter {
  bytes = 0;
  /** How often `]]>` stands in the content: splitting each costs tokens when the batch is written as XML. */
  cdataEnds = 0;
  private hashing: Hash | undefined;
  private value: string | undefined;
  private tail: Buffer = Buffer.alloc(0);

  /** `last`: no other chunk follows. */
  add(chunk: Buffer, last: boolean): void {
    if (last && this.hashing === undefined) this.value = hash('sha256', chunk);
    else (this.hashing ??= createHash('sha256')).update(chunk);
    this.cdataEnds += countOf(this.seam(chunk)) + countOf(chunk);
    if (!last) this.tail = Buffer.concat([this.tail, chunk.subarray(-SEAM)]).subarray(-SEAM);
    this.bytes += chunk.length;
  }

  digest(): string {
    this.value ??= (this.hashing ?? createHash('sha256')).digest('hex');
    return this.value;
  }

  /** Where the last chunk and this one meet; too short to hold one that lies in either. */
  private seam(chunk: Buffer): Buffer {
    if (this.tail.length === 0) return this.tail;
    return Buffer.concat([this.tail, chunk.subarray(0, SEAM)]);
  }
}

function countOf(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(CDATA_END); at !== -1; at = bytes.indexOf(CDATA_END, at + CDATA_END.length))
    count++;
  return count;
}
