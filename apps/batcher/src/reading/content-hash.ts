import { createHash, hash, type Hash } from 'node:crypto';

/** Hash and length of bytes that come in chunks. One chunk, the usual case, takes the short way. */
export class ContentHash {
  bytes = 0;
  private hashing: Hash | undefined;
  private value: string | undefined;

  /** `last`: no other chunk follows. */
  add(chunk: Buffer, last: boolean): void {
    if (last && this.hashing === undefined) this.value = hash('sha256', chunk);
    else (this.hashing ??= createHash('sha256')).update(chunk);
    this.bytes += chunk.length;
  }

  digest(): string {
    this.value ??= (this.hashing ?? createHash('sha256')).digest('hex');
    return this.value;
  }
}
