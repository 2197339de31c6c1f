import type { BulkJobOptions, Queue } from 'bullmq';
import { Contract } from '#contracts';
import type { RedisGate } from '#redis';
import { backoffMs, currentTrace, newTrace } from '#service';
import { EnqueueError, InvalidJobIdError } from './errors.js';
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
export const ANY_PAYLOAD = new Contract<unknown>('job', () => {});

// One round trip a chunk; small enough that other commands of the connection are not held up.
const CHUNK = 500;
const CHUNKS_IN_FLIGHT = 2;
const JITTERED = { type: 'jittered' };

/**
 * Puts jobs into queues. Every payload is checked against its contract before the first job is sent.
 * Guarantee: what is not named in the error was accepted by Redis.
 */
export class Enqueuer {
  constructor(
    private readonly gate: RedisGate,
    private readonly settings: Pick<Settings, 'attempts' | 'retry' | 'random'>,
  ) {}

  async enqueue<T>(queue: Queue, contract: Contract<T>, items: readonly EnqueueItem<T>[]): Promise<void> {
    const jobs = items.map((item) => this.toJob(contract, item));
    const failed: string[] = [];
    let cause: unknown;
    const send = async (start: number): Promise<void> => {
      const chunk = jobs.slice(start, start + CHUNK);
      try {
        await this.gate.run(`enqueue to ${queue.name}`, () => queue.addBulk(chunk));
      } catch (error) {
        cause ??= error;
        failed.push(...chunk.map(({ opts }) => opts.jobId));
      }
    };
    for (let at = 0; at < jobs.length; at += CHUNK * CHUNKS_IN_FLIGHT)
      await Promise.all(
        Array.from({ length: CHUNKS_IN_FLIGHT }, (_, index) => at + index * CHUNK)
          .filter((start) => start < jobs.length)
          .map(send),
      );
    if (failed.length > 0) throw new EnqueueError(queue.name, failed, jobs.length - failed.length, cause);
  }

  private toJob<T>(
    contract: Contract<T>,
    item: EnqueueItem<T>,
  ): {
    name: string;
    data: unknown;
    opts: BulkJobOptions & { jobId: string; tried?: number; suspect?: boolean };
  } {
    checkJobId(item.jobId);
    const { retry, random } = this.settings;
    const { attempts = this.settings.attempts } = item;
    // The last attempt is always its own: it is what a dead letter is made of.
    const tried = Math.min(item.tried ?? 0, attempts - 1);
    const delayMs = item.delayMs ?? (item.tried ? backoffMs(item.tried - 1, retry, random) : 0);
    return {
      name: contract.name,
      data: traced(contract.parse(item.payload)),
      opts: {
        jobId: item.jobId,
        attempts: attempts - tried,
        ...(tried > 0 && { tried }),
        ...(item.suspect && { suspect: true }),
        backoff: JITTERED,
        ...(delayMs > 0 && { delay: delayMs }),
        ...(item.priority && { priority: item.priority }),
      },
    };
  }
}

function checkJobId(jobId: string): void {
  if (!/^[^:]{1,256}$/s.test(jobId) || /^\d+$/.test(jobId)) throw new InvalidJobIdError(jobId);
}

/** The payload with the trace of the running work, so that its logs correlate across apps. */
function traced(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return payload;
  if ('trace' in payload && payload.trace !== undefined) return payload;
  return { ...payload, trace: currentTrace() ?? newTrace() };
}
