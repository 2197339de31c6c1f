import type { Contract } from '#contracts';
import { BATCH_EVENT, FILE_JOB } from '#contracts';
import type { LetterStatus } from '#dlq-client';

/** The contract of each queue that has one. */
export type OriginContracts = ReadonlyMap<string, Contract<unknown>>;

export function originContracts(queues: { files: string; batches: string }): OriginContracts {
  return new Map<string, Contract<unknown>>([
    [queues.files, FILE_JOB],
    [queues.batches, BATCH_EVENT],
  ]);
}

export const REFUSALS = {
  'not-open': 'the letter is not open; only an open letter can be requeued or discarded',
  'not-discarded': 'the letter is not discarded; only a discarded letter can be restored',
  'replay-limit':
    'the letter was requeued MAX_REPLAYS times and failed each time; edit its payload, or raise the limit',
  'redacted-payload': 'parts of the payload were masked as secrets; edit the payload and give them anew',
  'invalid-payload': 'the payload breaks the contract of its queue and would fail again; edit it first',
  gone: 'there is no such letter',
} as const;
export type Refusal = keyof typeof REFUSALS;

export interface RequeueCandidate {
  queue: string;
  status: LetterStatus;
  payload: string;
  redactedPaths: string;
  replayCount: number;
  /** Redrives before the payload was last edited; they no longer count. */
  replaysForgiven: number;
}

/** Why a letter cannot be requeued now; null when it can. */
export function requeueRefusal(
  letter: RequeueCandidate,
  { maxReplays, contracts }: { maxReplays: number; contracts: OriginContracts },
): Refusal | null {
  if (letter.status !== 'open') return 'not-open';
  if (letter.replayCount - letter.replaysForgiven >= maxReplays) return 'replay-limit';
  if (letter.redactedPaths !== '[]') return 'redacted-payload';
  return isRunnable(letter, contracts) ? null : 'invalid-payload';
}

function isRunnable({ queue, payload }: RequeueCandidate, contracts: OriginContracts): boolean {
  // The outbox takes objects only, whatever the queue.
  if (!payload.startsWith('{')) return false;
  const contract = contracts.get(queue);
  return !contract || contract.faultsOf(JSON.parse(payload)).length === 0;
}
