import { closeSync, constants, fstatSync, openSync, readSync, type BigIntStats } from 'node:fs';
import type { FileFacts, FileRef } from './read-outcome.js';

// The name may have become a link or a FIFO since it was registered: do not follow the one nor wait for the other.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CHUNK = 1_048_576;

// One buffer a thread: a thread reads one file at a time, and nobody keeps a chunk.
const buffer = Buffer.allocUnsafeSlow(CHUNK);

/** A file became shorter while it was read. */
export class FileTornError extends Error {}

/** A file held open, so that all that is read of it, and said about it, is of one inode. Runs on threads only: it blocks. */
export class OpenFile {
  private constructor(
    private readonly fd: number,
    private readonly stat: BigIntStats,
    private readonly checkpoint: () => void,
  ) {}

  /** Hands an open file to `use` and closes it. `checkpoint` is called before each read and may throw. */
  static use<T>(ref: FileRef, checkpoint: () => void, use: (file: OpenFile) => T): T {
    const path = ref.pathBytes === undefined ? ref.path : Buffer.from(ref.pathBytes, 'base64');
    const fd = openSync(path, OPEN_FLAGS);
    try {
      return use(new OpenFile(fd, fstatSync(fd, { bigint: true }), checkpoint));
    } finally {
      closeSync(fd);
    }
  }

  get isRegular(): boolean {
    return this.stat.isFile();
  }

  /** As the system said when it was opened. */
  get size(): number {
    return Number(this.stat.size);
  }

  /**
   * The whole file from its start, in chunks that are valid until the next. One byte more than its size is asked for, to
   * see that it has grown; one that grows for ever is not read for ever.
   */
  *chunks(): Generator<Buffer, void, void> {
    yield* this.range(0, this.size + 1);
  }

  /** Bytes start..end, or up to the end of the file. */
  *range(start: number, end: number): Generator<Buffer, void, void> {
    let at = start;
    while (at < end) {
      this.checkpoint();
      const read = readSync(this.fd, buffer, 0, Math.min(CHUNK, end - at), at);
      if (read === 0) return;
      at += read;
      yield read === CHUNK ? buffer : buffer.subarray(0, read);
      // It was asked for more and had no more: the end, seen without another call.
      if (at === this.size && end > at && read < CHUNK) return;
    }
  }

  /** Bytes start..end in a buffer of their own. Throws `FileTornError` when they are no longer all there. */
  bytes(start: number, end: number): Buffer {
    const whole = Buffer.allocUnsafe(end - start);
    let filled = 0;
    for (const chunk of this.range(start, end)) filled += chunk.copy(whole, filled);
    if (filled < whole.length) throw new FileTornError();
    return whole;
  }

  /** Whether size, times and inode are what they were when it was opened. */
  isUnchanged(): boolean {
    const now = fstatSync(this.fd, { bigint: true });
    const { size, mtimeNs, ctimeNs } = this.stat;
    return now.size === size && now.mtimeNs === mtimeNs && now.ctimeNs === ctimeNs;
  }

  facts(hash: string): FileFacts {
    const { mtimeNs, ctimeNs, dev, ino } = this.stat;
    return {
      size: this.size,
      mtimeNs: String(mtimeNs),
      ctimeNs: String(ctimeNs),
      inode: `${dev}:${ino}`,
      hash,
    };
  }
}
