import { isUtf8 } from 'node:buffer';

const SLASH = Buffer.from('/');

/** A path as it is stored: `text` to show and to open, `bytes` in base64 only when the bytes are not UTF-8. */
export interface PathText {
  text: string;
  bytes: string | null;
}

/** Names that are not UTF-8 are shown with their odd bytes as `\xff`; the bytes themselves stay beside it. */
export function pathText(path: Buffer): PathText {
  return isUtf8(path)
    ? { text: path.toString(), bytes: null }
    : { text: escapeInvalid(path), bytes: path.toString('base64') };
}

/** What to give to file-system calls: the name exactly as it is on disk. */
export function pathBytes({ text, bytes }: PathText): Buffer {
  return bytes === null ? Buffer.from(text) : Buffer.from(bytes, 'base64');
}

export function joinPath(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 1 && folder[0] === 0x2f
    ? Buffer.concat([SLASH, name])
    : Buffer.concat([folder, SLASH, name]);
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
