import { createHash, hash, type Hash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import { fileStat, identityText, isOnAnotherDevice, type FileStat } from './file-stat.js';
import { fault, meaningOf, NOT_REGULAR, OUTSIDE_ROOT, patiently } from './fs-faults.js';
import { fsPath, isInside, parentOf, pathBytes, type FsPath, type PathText } from './path.js';

/** Where a file is, as its row says. */
export interface FilePlace {
  root: PathText;
  path: PathText;
  /** Whether the scan followed links: the file may then lie elsewhere in the root, never outside. */
  followLinks: boolean;
  /** `device:inode` of its folder when that was listed, if known. */
  folderIdentity?: string | null;
}

export interface ReadOptions {
  /** Called before each read; throws when the caller gave up. */
  checkpoint?: () => void;
  /** Takes each chunk, so it is as large as one. */
  buffer?: Buffer;
  /** For files that are neighbours, one after the other. */
  folder?: OpenFolder;
}

// The name may have become a link or a FIFO since it was registered: do not follow the one nor wait for the other.
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
// A folder that may be passed through need not be one that may be listed. (Linux; `fs.constants` has no O_PATH.)
const FOLDER_FLAGS = 0o10000000 | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const CHUNK = 1_048_576;
const DESCRIPTORS = '/proc/self/fd';
const TELLS_WHERE = existsSync(DESCRIPTORS);
// What opening answers for a socket, or for a device that has no driver.
const NO_FILE_AT_OPEN = ['ENXIO', 'ENODEV'];

// One for a thread: a thread reads one file at a time, and nobody keeps a chunk.
let shared: Buffer | undefined;

/** A file became shorter while it was read. */
export class FileTornError extends Error {}

/**
 * The one way to open a file of the tree: a regular file, inside its root, at the place that its row names. All that is
 * read of it, and said about it, is of one inode. Runs on threads only: it blocks.
 */
export class OpenFile {
  /** As the system said when it was opened. */
  readonly size: number;
  private readonly buffer: Buffer;
  private readonly checkpoint: (() => void) | undefined;

  private constructor(
    private readonly fd: number,
    private readonly before: BigIntStats,
    { checkpoint, buffer }: ReadOptions,
  ) {
    this.size = Number(before.size);
    this.checkpoint = checkpoint;
    this.buffer = buffer ?? (shared ??= Buffer.allocUnsafeSlow(CHUNK));
  }

  /** Hands an open file to `use` and closes it. Throws what `meaningOf` reads. */
  static use<T>(place: FilePlace, use: (file: OpenFile) => T, options: ReadOptions = {}): T {
    const pinned = options.folder?.open(place);
    const path = pinned === undefined ? whereItLies(place) : '';
    const fd = pinned ?? patiently(() => open(path));
    try {
      const stat = fstatSync(fd, { bigint: true });
      if (!stat.isFile()) throw fault(NOT_REGULAR, 'it is no regular file');
      if (pinned === undefined) refuseElsewhere(fd, stat, path);
      return use(new OpenFile(fd, stat, options));
    } finally {
      closeSync(fd);
    }
  }

  get stat(): FileStat {
    return fileStat(this.before);
  }

  /**
   * The whole file from its start, in chunks that are valid until the next. One byte more than its size is asked for, to
   * see that it has grown; one that grows for ever is not read for ever.
   */
  *chunks(): Generator<Buffer, void, void> {
    yield* this.range(0, this.size + 1);
  }

  /**
   * The whole of a file that is shorter than the buffer, valid until the next read; undefined when it has another size by now.
   * One byte more is asked for, so that one call sees the end.
   */
  whole(): Buffer | undefined {
    const { buffer, size } = this;
    const read = this.read(buffer.subarray(0, size + 1), 0, Math.max(size, 1));
    return read === size ? buffer.subarray(0, size) : undefined;
  }

  /** Bytes start..end, or up to the end of the file. */
  *range(start: number, end: number): Generator<Buffer, void, void> {
    const { buffer } = this;
    for (let at = start; at < end;) {
      const read = this.read(buffer.subarray(0, end - at), at, 1);
      if (read === 0) return;
      at += read;
      yield read === buffer.length ? buffer : buffer.subarray(0, read);
      // It was asked for more and had no more: the end, seen without another call.
      if (at === this.size && end > at && read < buffer.length) return;
    }
  }

  /** Bytes start..end in a buffer of their own. Throws `FileTornError` when they are no longer all there. */
  bytes(start: number, end: number): Buffer {
    const whole = Buffer.allocUnsafe(end - start);
    if (!this.fill(whole, start)) throw new FileTornError();
    return whole;
  }

  /** Fills `place` with the bytes from `start`; false when the file ends before. */
  fill(place: Uint8Array, start: number): boolean {
    return this.read(place, start, place.length) === place.length;
  }

  /** Whether size and times are what they were when it was opened. */
  isUnchanged(): boolean {
    const now = fstatSync(this.fd, { bigint: true });
    const { size, mtimeNs, ctimeNs } = this.before;
    return now.size === size && now.mtimeNs === mtimeNs && now.ctimeNs === ctimeNs;
  }

  /** Reads until at least so many bytes are there, or the file ends. Returns how many are. */
  private read(into: Uint8Array, start: number, enough: number): number {
    let filled = 0;
    for (let read = 1; read > 0 && filled < enough; filled += read) {
      this.checkpoint?.();
      read = patiently(() => readSync(this.fd, into, filled, into.length - filled, start + filled));
    }
    return filled;
  }
}

/**
 * The folder of the file opened last, by a descriptor: its neighbours are opened through it, and where it lies is asked once for
 * all of them, which saves a quarter of what a small file costs. A file is then one that lies in a folder that was where its row
 * says when the first of them was opened. Close it after each piece of work: a descriptor keeps a mount busy.
 */
export class OpenFolder {
  private fd: number | undefined;
  private root: PathText | undefined;
  /** With a slash at its end, as registered and through the descriptor. */
  private path = '';
  private pinned = '';

  /** A descriptor of what has the file's name in its folder. Undefined: open it by its path, which also tells what is wrong. */
  open(place: FilePlace): number | undefined {
    const path = fsPath(place.path);
    if (!TELLS_WHERE || place.followLinks || typeof path !== 'string') return undefined;
    try {
      if (!this.holds(place.root, path)) this.enter(place.root, path);
      return openSync(`${this.pinned}${path.slice(this.path.length)}`, OPEN_FLAGS);
    } catch {
      this.close();
      return undefined;
    }
  }

  close(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
    this.path = '';
  }

  private holds(root: PathText, path: string): boolean {
    if (this.path === '' || !path.startsWith(this.path) || path.includes('/', this.path.length)) return false;
    return root.text === this.root?.text && root.bytes === this.root.bytes;
  }

  private enter(root: PathText, file: string): void {
    this.close();
    const path = parentOf(file);
    refuseOutside(root, path);
    this.fd = openSync(path, FOLDER_FLAGS);
    refuseByDescriptor(this.fd, path);
    this.root = root;
    this.path = `${path === '/' ? '' : path.toString()}/`;
    this.pinned = `${DESCRIPTORS}/${this.fd}/`;
  }
}

/**
 * Hands to `use` a path of a folder of the tree that is the folder's own as long as it runs (on Linux), whatever is put in its
 * place or above it meanwhile.
 */
export function useFolder<T>(place: FilePlace, use: (path: FsPath, stat: BigIntStats) => T): T {
  const path = whereItLies(place);
  const fd = patiently(() => openSync(path, OPEN_FLAGS | constants.O_DIRECTORY));
  try {
    const stat = fstatSync(fd, { bigint: true });
    refuseElsewhere(fd, stat, path);
    return use(TELLS_WHERE ? `${DESCRIPTORS}/${fd}` : path, stat);
  } finally {
    closeSync(fd);
  }
}

/** Hash of bytes start..end in hex, all unless given: what grows faster than it is read is not read for ever. */
export function hashOf(file: OpenFile, algorithm: string, start = 0, end = file.size): string {
  let whole: Hash | undefined;
  for (const chunk of file.range(start, end)) {
    if (chunk.length === end - start) return hash(algorithm, chunk);
    (whole ??= createHash(algorithm)).update(chunk);
  }
  return (whole ?? createHash(algorithm)).digest('hex');
}

/**
 * Whether the folder of a file is there as it was. A file is gone only from a folder that is there: with the folder away, or
 * empty on another device than before, it may be the mount.
 */
export function folderStands({ path, folderIdentity = null }: FilePlace): boolean {
  const folder = parentOf(fsPath(path));
  try {
    const stat = statSync(folder, { bigint: true });
    if (!stat.isDirectory()) return false;
    return !isOnAnotherDevice(folderIdentity, identityText(stat)) || readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}

/** The real path that is opened: as registered, or where the links lead that the scan followed. */
function whereItLies({ root, path, followLinks }: FilePlace): FsPath {
  const registered = fsPath(path);
  const real = followLinks ? patiently(() => realpathSync(registered, { encoding: 'buffer' })) : registered;
  refuseOutside(root, real);
  return real;
}

function refuseOutside(root: PathText, path: FsPath): void {
  const bytes = Buffer.from(path);
  if (bytes.includes('/../') || !isInside(pathBytes(root), bytes)) throw outside();
}

function open(path: FsPath): number {
  try {
    return openSync(path, OPEN_FLAGS);
  } catch (error) {
    if (NO_FILE_AT_OPEN.includes((error as NodeJS.ErrnoException).code ?? ''))
      throw fault(NOT_REGULAR, 'it is a socket or a device');
    throw error;
  }
}

/**
 * O_NOFOLLOW guards the last name only: a folder above it may have been swapped for a link. Where the descriptor is, the
 * system tells in one call that nobody can race (Linux); elsewhere every folder above must be one, before and after the
 * name is seen to be the file that was opened.
 */
function refuseElsewhere(fd: number, stat: BigIntStats, path: FsPath): void {
  if (TELLS_WHERE) return refuseByDescriptor(fd, path);
  const before = foldersAbove(path);
  const seen = lstatSync(path, { bigint: true });
  const same = seen.dev === stat.dev && seen.ino === stat.ino;
  if (!same || before === undefined || foldersAbove(path) !== before) throw outside();
}

function refuseByDescriptor(fd: number, path: FsPath): void {
  const wanted = Buffer.from(path);
  const found = descriptorPath(fd);
  if (found?.equals(wanted)) return;
  if (found?.equals(Buffer.concat([wanted, Buffer.from(' (deleted)')])))
    throw fault('ENOENT', 'it was deleted while it was opened');
  throw outside();
}

/** Undefined where the real path is longer than the system can tell. */
function descriptorPath(fd: number): Buffer | undefined {
  try {
    return readlinkSync(`${DESCRIPTORS}/${fd}`, { encoding: 'buffer' });
  } catch (error) {
    if (meaningOf(error) === 'too-long') return undefined;
    throw error;
  }
}

/** The identities of all folders above; undefined when one of them is none. */
function foldersAbove(path: FsPath): string | undefined {
  const identities: string[] = [];
  for (let at = parentOf(path); ; at = parentOf(at)) {
    const stat = lstatSync(at, { bigint: true });
    if (!stat.isDirectory()) return undefined;
    identities.push(identityText(stat));
    if (at.length <= 1) return identities.join();
  }
}

function outside(): NodeJS.ErrnoException {
  return fault(OUTSIDE_ROOT, 'it lies elsewhere than its path says: a folder above it became a link');
}
