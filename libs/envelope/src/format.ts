import type { BatchFile } from '#contracts';

/** How the `write` sink writes batches. */
export const FORMATS = ['markdown', 'xml', 'jsonl'] as const;
export type FormatName = (typeof FORMATS)[number];
/** Every form that a batch can take: `json` is the body of a request. */
export type EnvelopeName = FormatName | 'json';

type BodyEncoding = 'utf-8' | 'escaped' | 'base64';

/** A part of a file, as the text around it tells of it. */
export interface PartFacts extends Pick<BatchFile, 'part' | 'parts' | 'start' | 'end' | 'hash'> {
  /** The path as it is shown to the reader of the batch. */
  path: string;
}

/** The bytes of a part as they stand in the batch. */
export interface Body {
  encoding: BodyEncoding;
  written: Buffer;
  /** Markdown: what stands before and after it. */
  fence?: string;
}

/** One part of a file with its bytes, ready to be written. */
export interface LoadedFile {
  file: Pick<BatchFile, 'tokens' | 'part' | 'parts' | 'start' | 'end' | 'hash'>;
  path: string;
  bytes: Buffer;
}

/**
 * How a batch becomes one text. Whatever stands before and after a file begins with a mark and ends with a line end, and
 * both encodings begin a piece at a mark (other than a slash) after a line end: so the tokens of the whole are the sum of
 * the tokens of `open`, of each file with its head and foot, and of `close`.
 */
export interface Format {
  extension: string;
  /** How often bodies differ from the bytes of their files; tokens of a body then hold for this format only. */
  rewrites: 'never' | 'seldom' | 'always';
  /** What `open` and `close` cost at most: each byte of a batch's id, which is not known while it is packed, a token. */
  batchTokens: number;
  /** Stands before every file but the first. */
  separator: string;
  open(batchId: string, totalTokens: number): string;
  body(bytes: Buffer): Body;
  head(part: PartFacts, body: Body): string;
  /** `tokens`: of the body. */
  foot(part: PartFacts, body: Body, tokens: number): string;
  close(): string;
}
