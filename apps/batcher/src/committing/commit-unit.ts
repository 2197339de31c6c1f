import type { SkipReason } from '#files';
import type { Part, TextOutcome } from '../reading/read-outcome.js';

/** Which file, in which revision: what every write is guarded by. */
export interface FileKey {
  fileId: number;
  revision: number;
}

/** A file that was read and counted and waits for its batch. */
export interface CountedFile extends FileKey, Pick<TextOutcome, 'facts' | 'tokens' | 'parts'> {
  path: string;
  pathBytes?: string;
  trace?: string;
  /** When it was counted, UTC milliseconds; for spans. */
  countedAt?: number;
}

/** One part of a counted file, `part` counted from 1. */
export interface FilePart {
  file: CountedFile;
  part: number;
  bytes: Part;
}

/** Parts that share a batch, with its tokens: theirs, what stands around them, and what stands around all. */
export interface BatchDraft {
  parts: FilePart[];
  totalTokens: number;
}

/**
 * Batches that are committed together or not at all: a file that was split over several is batched when all its parts
 * are.
 */
export interface BatchesUnit {
  kind: 'batches';
  drafts: BatchDraft[];
}

/**
 * What becomes of files without a batch. `wait`: their folder is away; they stay what they are and say so. `leave`: they
 * leave the job that brought them, and have one of their own from here on.
 */
export interface FilesUnit {
  kind: 'skip' | 'fail' | 'wait' | 'leave';
  files: readonly FileKey[];
  reason?: SkipReason;
  error?: string | null;
  duplicateOf?: number;
}

/** What one or many jobs wait for: written as a whole. */
export type CommitUnit = BatchesUnit | FilesUnit;

/** What a commit came to: the batches written, and the files that were no longer ours to batch. */
export interface Committed {
  batches: { id: string; items: number; tokens: number }[];
  /** Batched elsewhere meanwhile, or registered anew: the guard refused them. */
  refused: number;
  /** Touched, content unchanged: delivered before, and not sent again. */
  touched: number;
  /** `keyOf` those whose content is in a batch that is yet to be delivered: what becomes of it decides about them. */
  onTheirWay: ReadonlySet<string>;
}

export function keyOf({ fileId, revision }: FileKey): string {
  return `${fileId}-${revision}`;
}

/** Rows that a unit writes, to keep transactions small. */
export function weightOf(unit: CommitUnit): number {
  if (unit.kind !== 'batches') return unit.files.length;
  return unit.drafts.reduce((sum, { parts }) => sum + parts.length, 0);
}

/** Every file of the drafts once: a job that was delivered twice has two, of which the first counts. */
export function distinctFiles(drafts: readonly BatchDraft[]): Map<string, CountedFile> {
  const files = new Map<string, CountedFile>();
  for (const { parts } of drafts)
    for (const { file } of parts) {
      const key = keyOf(file);
      if (!files.has(key)) files.set(key, file);
    }
  return files;
}

/** The drafts without the parts of files that are not among the admitted; drafts that are left empty are gone. */
export function admitted(drafts: readonly BatchDraft[], files: ReadonlySet<CountedFile>): BatchDraft[] {
  return drafts.flatMap(({ parts, totalTokens }) => {
    const kept = parts.filter(({ file }) => files.has(file));
    if (kept.length === 0) return [];
    const dropped = parts.filter(({ file }) => !files.has(file));
    return [
      { parts: kept, totalTokens: totalTokens - dropped.reduce((sum, { bytes }) => sum + bytes.cost, 0) },
    ];
  });
}
