import type { EnvelopeName } from '#envelope';
import type { FileStat, SkipReason } from '#files';
import type { EncodingName } from '#tokens';

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

/** The file as it was when it was read. */
interface FileFacts extends FileStat {
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
  /** Its folder is not there, or its mount is away: nothing is known of the file. */
  | { kind: 'away'; error: string }
  /** It changed while it was read, several times over. */
  | { kind: 'changed' }
  /** The system failed to read it; it may succeed another time. */
  | { kind: 'failed'; code: string; error: string }
  /** No thread could say: it took too long, the file killed it, or the process stops. */
  | { kind: 'error'; error: unknown };
