import { Contract } from '#contracts';
import { backoffMs, currentTrace, newTrace } from '#service';
import { invalidJobId } from './errors.js';
import type { Settings } from './queue-manager.options.js';

export interface EnqueueOptions {
  /** Deterministic: the same work has the same id, so that enqueueing it again is harmless. */
  jobId: string;
  delayMs?: number;
  /** 1 is first; without one a job is first in, first out, before all that have one. */
  priority?: number;
  attempts?: number;
  /** Attempts that were used up under another job: they count as this one's, which waits as after the last of them. */
  tried?: number;
  /** It may be what killed its process under another job: it gets a trial (see suspects.ts). */
  suspect?: boolean;
}

export interface EnqueueItem<T> extends EnqueueOptions {
  payload: T;
}

/** For payloads that are checked elsewhere, such as a requeued dead letter's. */
export const ANY_PAYLOAD = new Contract<unknown>('job', () => []);

const JITTERED = { type: 'jittered' };

/** A job as BullMQ takes it. Throws when its payload does not keep the contract. */
export function bulkJob<T>(contract: Contract<T>, item: EnqueueItem<T>, settings: Settings) {
  const { jobId } = item;
  if (!/^[^:]{1,256}$/s.test(jobId) || /^\d+$/.test(jobId)) throw invalidJobId(jobId);
  const { retry, random } = settings;
  const { attempts = settings.attempts } = item;
  // The last attempt is always its own: it is what a dead letter is made of.
  const tried = Math.min(item.tried ?? 0, attempts - 1);
  const delayMs = item.delayMs ?? (item.tried ? backoffMs(item.tried - 1, retry, random) : 0);
  return {
    name: contract.name,
    data: traced(contract.parse(item.payload)),
    opts: {
      jobId,
      attempts: attempts - tried,
      ...(tried > 0 && { tried }),
      ...(item.suspect && { suspect: true }),
      backoff: JITTERED,
      ...(delayMs > 0 && { delay: delayMs }),
      ...(item.priority && { priority: item.priority }),
    },
  };
}

/** The payload with the trace of the running work, so that its logs correlate across apps. */
function traced(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return payload;
  if ('trace' in payload && payload.trace !== undefined) return payload;
  return { ...payload, trace: currentTrace() ?? newTrace() };
}
