import { isUtf8 } from 'node:buffer';
import type { Body, Format, PartFacts } from './format.js';

/** One JSON object a file and line. Bytes that are not UTF-8 are given in base64, so that none is changed. */
export const jsonl: Format = {
  extension: 'jsonl',
  rewrites: 'always',
  batchTokens: 0,
  separator: '',
  open: () => '',
  body,
  head,
  foot: ({ hash }, _, tokens) => `","tokens":${tokens},"sha256":${JSON.stringify(hash)}}\n`,
  close: () => '',
};

/** The body of a request: one JSON object, a line a file. */
export const json: Format = {
  ...jsonl,
  extension: 'json',
  batchTokens: 64,
  separator: ',',
  open: (batchId, totalTokens) =>
    `{"batchId":${JSON.stringify(batchId)},"totalTokens":${totalTokens},"files":[\n`,
  close: () => ']}\n',
};

function body(bytes: Buffer): Body {
  if (!isUtf8(bytes)) return { encoding: 'base64', written: Buffer.from(bytes.toString('base64')) };
  const quoted = Buffer.from(JSON.stringify(bytes.toString()));
  return { encoding: 'utf-8', written: quoted.subarray(1, -1) };
}

function head({ path, part, parts, start, end }: PartFacts, { encoding }: Body): string {
  const facts = JSON.stringify({ path, part, parts, start, end, encoding });
  return `${facts.slice(0, -1)},"content":"`;
}
