import type { EnvelopeName } from '#envelope';
import type { EncodingName } from '#tokens';

/** Which file to read. */
export interface FileRef {
  path: string;
  /** The path's bytes in base64, when they are not UTF-8. */
  pathBytes?: string;
  /** Tokens of the content with this hash, when they are known: it is not counted again. */
  known?: { hash: string; tokens: number };
}

/** What a thread is asked for: `hash` reads without counting, to look the count up elsewhere. */
export interface ReadTask {
  what: 'count' | 'hash';
  files: FileRef[];
}

/** What every reading thread is told once. */
export interface ReadSettings {
  encoding: EncodingName;
  /** How batches are written, and the folder that paths are shown relative to: what a file costs depends on it. */
  format: EnvelopeName;
  pathBase?: string;
  /** Budget of a batch, all allowances included. */
  maxTokens: number;
  maxFileBytes: number;
}

/** The file as it was when it was read. Times are nanoseconds, as text. */
export interface FileFacts {
  size: number;
  mtimeNs: string;
  ctimeNs: string;
  inode: string;
  hash: string;
}

/** Bytes start..end of the file. `tokens`: of the content as it is written; `cost`: with what stands around it. */
export interface Part {
  start: number;
  end: number;
  tokens: number;
  cost: number;
  hash: string;
}

export type SkipReason =
  | 'binary'
  | 'duplicate'
  | 'empty'
  | 'too-large'
  | 'vanished'
  | 'unreadable'
  | 'not-a-file'
  | 'path-too-long'
  | 'changed';

export interface TextOutcome {
  kind: 'text';
  facts: FileFacts;
  /** Of the content: of all parts together when it was split. */
  tokens: number;
  parts: Part[];
}

export interface SkippedOutcome {
  kind: 'skipped';
  reason: SkipReason;
  /** Why, in the system's words, when the reason alone does not say. */
  error?: string;
}

/** What reading a file came to. */
export type ReadOutcome =
  | TextOutcome
  | SkippedOutcome
  /** Read and hashed, not counted: what `hash` tasks answer. */
  | { kind: 'hashed'; hash: string }
  /** It changed while it was read, several times over. */
  | { kind: 'changed' }
  /** The system failed to read it; it may succeed another time. */
  | { kind: 'failed'; code: string; error: string };
