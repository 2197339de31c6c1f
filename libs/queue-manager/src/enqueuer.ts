import type { BulkJobOptions, Queue } from 'bullmq';
import { Contract } from '#contracts';
import type { RedisGate } from '#redis';
import { currentTrace, newTrace } from '#service';
import { EnqueueError, InvalidJobIdError } from './errors.js';
import type { Settings } from './queue-manager.options.js';

export interface EnqueueOptions {
  /** Deterministic: the same work has the same id, so that enqueueing it again is harmless. */
  jobId: string;
  delayMs?: number;
  /** 1 is first; without one a job is first in, first out, before all that have one. */
  priority?: number;
  attempts?: number;
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
    private readonly settings: Pick<Settings, 'attempts'>,
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
  ): { name: string; data: unknown; opts: BulkJobOptions & { jobId: string } } {
    checkJobId(item.jobId);
    return {
      name: contract.name,
      data: traced(contract.parse(item.payload)),
      opts: {
        jobId: item.jobId,
        attempts: item.attempts ?? this.settings.attempts,
        backoff: JITTERED,
        ...(item.delayMs && { delay: item.delayMs }),
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
