import { isUtf8 } from 'node:buffer';
import type { Format, LoadedFile } from './format.js';

/** One JSON object a file and line. Bytes that are not UTF-8 are given in base64, so that none is changed. */
export const jsonl: Format = {
  extension: 'jsonl',
  open: () => '',
  head: () => '',
  body: (loaded) => Buffer.from(`${JSON.stringify(jsonFile(loaded))}\n`),
  foot: () => '',
  close: () => '',
};

export interface JsonFile {
  path: string;
  part: number;
  parts: number;
  start: number;
  end: number;
  tokens: number;
  sha256: string;
  encoding: 'utf-8' | 'base64';
  content: string;
}

export function jsonFile({ path, file, bytes }: LoadedFile): JsonFile {
  const { part, parts, start, end, tokens, hash } = file;
  const encoding = isUtf8(bytes) ? 'utf-8' : 'base64';
  return { path, part, parts, start, end, tokens, sha256: hash, encoding, content: bytes.toString(encoding) };
}
