import type { DeadLetterEntity } from '#database';
import type { LetterDraft } from './letter-draft.js';
import { parseRequeueJobId } from './requeue-id.js';

/** What is read of a letter to tell whether a failure is its own. */
export const KNOWN_LETTER = [
  ...(['id', 'queue', 'jobId', 'name', 'status', 'reason', 'replayCount', 'failedAt'] as const),
  ...(['fingerprint', 'lastWorkerId', 'errorName', 'errorMessage'] as const),
];

export type KnownLetter = Pick<DeadLetterEntity, (typeof KNOWN_LETTER)[number]> & { payload: string };

export type Fate = { kind: 'new' } | { kind: 'duplicate' } | { kind: 'again'; letter: KnownLetter };

/**
 * What a delivered failure is: new, one that is stored already, or a letter's job that failed again.
 * - Our own requeue is known by its job id. Only the latest requeue of a letter can be news, and only while the letter
 *   waits for its outcome: everything else has been told before.
 * - Another job of the same id (somebody retried it by hand) is news when it failed later than what is stored.
 */
export function classifyFailure(
  draft: Pick<LetterDraft, 'queue' | 'jobId' | 'failedAt'>,
  known: readonly KnownLetter[],
): Fate {
  const requeue = parseRequeueJobId(draft.jobId);
  const origin = requeue && known.find(({ id, queue }) => id === requeue.letterId && queue === draft.queue);
  if (requeue && origin)
    return requeue.replay === origin.replayCount && origin.status === 'requeued'
      ? { kind: 'again', letter: origin }
      : { kind: 'duplicate' };
  const same = known.find(({ queue, jobId }) => queue === draft.queue && jobId === draft.jobId);
  if (!same) return { kind: 'new' };
  return same.failedAt < draft.failedAt && same.status !== 'requeued'
    ? { kind: 'again', letter: same }
    : { kind: 'duplicate' };
}
