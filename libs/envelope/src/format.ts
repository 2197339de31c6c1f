import type { BatchFile } from '#contracts';

export const FORMATS = ['markdown', 'xml', 'jsonl'] as const;
export type FormatName = (typeof FORMATS)[number];

/** One part of a file with its bytes, ready to be written. */
export interface LoadedFile {
  file: Pick<BatchFile, 'tokens' | 'part' | 'parts' | 'start' | 'end' | 'hash'>;
  /** The path as it is shown to the reader of the batch. */
  path: string;
  bytes: Buffer;
}

/** How a batch becomes one text. `head` and `foot` are what stands around a file's bytes. */
export interface Format {
  extension: string;
  open(batchId: string, totalTokens: number): string;
  head(loaded: LoadedFile): string;
  body(loaded: LoadedFile): Buffer;
  foot(loaded: LoadedFile): string;
  close(): string;
}
