import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';

const SLASH = Buffer.from('/');
const PRINTABLE = /^[ -~]*$/;

/** What to give to file-system calls: text where bytes and text are the same, because it passes faster; else the bytes. */
export type FsPath = string | Buffer;

/** A path as it is stored: `text` to show and to open, `bytes` in base64 only when the bytes are not UTF-8. */
export interface PathText {
  text: string;
  bytes: string | null;
}

/** Names that are not UTF-8 are shown with their odd bytes as `\xff`; the bytes themselves stay beside it. */
export function pathText(path: FsPath): PathText {
  if (typeof path === 'string') return { text: path, bytes: null };
  return isUtf8(path)
    ? { text: path.toString(), bytes: null }
    : { text: escapeInvalid(path), bytes: path.toString('base64') };
}

export function fsPath(path: PathText): FsPath {
  return path.bytes === null && PRINTABLE.test(path.text) ? path.text : pathBytes(path);
}

/** The path of an entry by its name on disk, a character a byte. */
export function entryPath(folder: FsPath, name: string): FsPath {
  if (typeof folder !== 'string' || !PRINTABLE.test(name))
    return joinPath(Buffer.from(folder), Buffer.from(name, 'latin1'));
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

/** The name exactly as it is on disk. */
export function pathBytes({ text, bytes }: PathText): Buffer {
  return bytes === null ? Buffer.from(text) : Buffer.from(bytes, 'base64');
}

export function joinPath(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 1 && folder[0] === 0x2f
    ? Buffer.concat([SLASH, name])
    : Buffer.concat([folder, SLASH, name]);
}

export function parentOf(path: FsPath): FsPath {
  return typeof path === 'string'
    ? path.slice(0, Math.max(path.lastIndexOf('/'), 1))
    : path.subarray(0, Math.max(path.lastIndexOf(0x2f), 1));
}

/** Whether a real path is the root or below it. */
export function isInside(root: Buffer, path: Buffer): boolean {
  if (path.equals(root)) return true;
  const prefix = root.length === 1 ? root : Buffer.concat([root, SLASH]);
  return path.length > prefix.length && path.subarray(0, prefix.length).equals(prefix);
}

/**
 * The unique key of a folder's path: 132 bits of sha256 over its bytes, 22 characters. The path itself cannot be the key:
 * PostgreSQL indexes at most 2.7 kB, and two names that are not UTF-8 may read the same as text.
 */
export function pathKey(path: FsPath): string {
  return hash('sha256', path, 'base64url').slice(0, 22);
}

/**
 * The unique key of a file within its folder: its name; when that is not UTF-8, a slash, which no name contains, and the
 * bytes in base64.
 */
export function nameKey(name: FsPath): string {
  if (typeof name === 'string') return name;
  return isUtf8(name) ? name.toString() : `/${name.toString('base64url')}`;
}

function escapeInvalid(path: Buffer): string {
  let text = '';
  for (let at = 0; at < path.length;) {
    const length = sequenceLength(path, at);
    text += length > 0 ? path.toString('utf8', at, at + length) : escapeByte(path[at] ?? 0);
    at += Math.max(length, 1);
  }
  return text;
}

/** Bytes of the valid UTF-8 character at `at`; 0 when there is none. */
function sequenceLength(path: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= path.length; length++)
    if (isUtf8(path.subarray(at, at + length))) return length;
  return 0;
}

const escapeByte = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;
