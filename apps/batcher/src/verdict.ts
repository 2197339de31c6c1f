import { isTransient } from '#database';
import { PermanentError } from '#queue-manager';
import { errorCode } from '#service';
import { FileChangingError, FileUnreadError, FolderAwayError } from './batcher.errors.js';
import type { SkipReason } from '#files';
import type { ReadOutcome, TextOutcome } from './reading/read-outcome.js';

/** What is to be done about a file that was read. */
export type Verdict =
  | { kind: 'batch'; text: TextOutcome }
  | { kind: 'skip'; reason: SkipReason; error: string | null }
  | { kind: 'obsolete' }
  /** Its folder or mount is away: nothing is known of the file, and no attempt is used up. */
  | { kind: 'wait'; error: Error }
  | { kind: 'retry'; error: Error };

/** A file that never holds still is given up as `changed`; what the system failed at is tried again to the last. */
export function verdictOf(path: string, outcome: ReadOutcome, lastAttempt: boolean): Verdict {
  switch (outcome.kind) {
    case 'text':
      return { kind: 'batch', text: outcome };
    case 'skipped':
      return { kind: 'skip', reason: outcome.reason, error: outcome.error ?? null };
    case 'obsolete':
      return outcome;
    case 'away':
      return { kind: 'wait', error: new FolderAwayError(path, outcome.error) };
    case 'changed':
      return lastAttempt
        ? { kind: 'skip', reason: 'changed', error: 'it changed each time while it was read' }
        : { kind: 'retry', error: new FileChangingError(path) };
    case 'failed':
      return { kind: 'retry', error: new FileUnreadError(path, outcome.code, outcome.error) };
    case 'hashed':
      throw new Error('a file that was only hashed has no verdict');
  }
}

/** The process stops, or the database is away: the file is not at fault and no attempt is used up. */
export function isInterruption(error: unknown): boolean {
  return ['BATCHER_STOPPED', 'POOL_STOPPED'].includes(errorCode(error) ?? '') || isTransient(error);
}

/** Trying again cannot help. */
export function isFinal(error: unknown): boolean {
  return error instanceof PermanentError;
}
