import type { BulkKind } from '#dlq-client';

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

/** How a letter stands, as far as that decides what can be done with it. */
export interface Standing {
  status: string;
  /** How often it was requeued with this payload. */
  replays: number;
  redacted: boolean;
}

/** Why a letter cannot be changed so now; null when it can, unless its payload speaks against it. */
export function refusalOf(kind: BulkKind, standing: Standing, maxReplays: number): Refusal | null {
  const { status, replays, redacted } = standing;
  if (kind === 'restore') return status === 'discarded' ? null : 'not-discarded';
  if (status !== 'open') return 'not-open';
  if (kind === 'discard') return null;
  if (replays >= maxReplays) return 'replay-limit';
  return redacted ? 'redacted-payload' : null;
}
