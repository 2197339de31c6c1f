import { isTransient } from '#database';
import { errorCode } from '#service';
import {
  ContentOnItsWayError,
  FileChangingError,
  FileUnreadError,
  FolderAwayError,
} from './batcher.errors.js';
import type { SkipReason } from '#files';
import type { ReadOutcome, TextOutcome } from './reading/read-outcome.js';

/** What is to be done about a file that was read. */
export type Verdict =
  | { kind: 'batch'; text: TextOutcome }
  | { kind: 'skip'; reason: SkipReason; error: string | null }
  /** Its folder or mount is away: nothing is known of the file, and no attempt is used up. */
  | { kind: 'wait'; error: Error }
  | { kind: 'retry'; error: unknown };

/** A file that never holds still is given up as `changed`; what the system failed at is tried again to the last. */
export function verdictOf(path: string, outcome: ReadOutcome, lastAttempt: boolean): Verdict {
  switch (outcome.kind) {
    case 'text':
      return { kind: 'batch', text: outcome };
    case 'skipped':
      return { kind: 'skip', reason: outcome.reason, error: outcome.error ?? null };
    case 'away':
      return { kind: 'wait', error: new FolderAwayError(path, outcome.error) };
    case 'changed':
      return lastAttempt
        ? { kind: 'skip', reason: 'changed', error: 'it changed each time while it was read' }
        : { kind: 'retry', error: new FileChangingError(path) };
    case 'failed':
      return { kind: 'retry', error: new FileUnreadError(path, outcome.code, outcome.error) };
    case 'error':
      return { kind: 'retry', error: outcome.error };
  }
}

const INTERRUPTED_RETRY_MS = 1_000;
const AWAY_RETRY_MS = 10_000;
const ON_ITS_WAY_RETRY_MS = 3_000;

/**
 * When to try again what the file is not at fault for, so that no attempt is used up: the process stops, the database or
 * the folder is away, or a batch that holds the same content is yet to be delivered. Undefined: an attempt has failed.
 */
export function retryMs(error: unknown): number | undefined {
  if (error instanceof FolderAwayError) return AWAY_RETRY_MS;
  if (error instanceof ContentOnItsWayError) return ON_ITS_WAY_RETRY_MS;
  const interrupted =
    ['BATCHER_STOPPED', 'POOL_STOPPED'].includes(errorCode(error) ?? '') || isTransient(error);
  return interrupted ? INTERRUPTED_RETRY_MS : undefined;
}
