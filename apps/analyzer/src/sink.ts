import type { OpenBatch } from './open-batches.repository.js';
import type { StaleFile } from './render-batch.thread.js';

export const SINK = Symbol('sink');

/**
 * Where batches go. `deliver` may be called again for the same batch after a crash or a failure, so a sink makes its
 * effect idempotent by the batch's id. It throws BatchRefusedError when this batch will never be taken, DestinationAwayError
 * when none is taken now.
 */
export interface Sink {
  /** Where batches go, as people may see it: no secrets. */
  readonly target: string;
  deliver(batch: OpenBatch, terms: DeliveryTerms): Promise<Delivery>;
}

export interface DeliveryTerms {
  signal: AbortSignal;
  /** What cannot be read is then set aside. */
  lastAttempt: boolean;
  /** The `traceparent` of the work that delivers. */
  trace?: string | undefined;
}

export interface Delivery {
  /** How many parts were sent. */
  files: number;
  stale: StaleFile[];
  /** What the analysis said, if anything; kept with the batch. */
  result?: unknown;
  /** Where the batch went, for the log. */
  target: string;
}
